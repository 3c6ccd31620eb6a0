-- A do-not-reach list sets it too, and not only an erasure. The rename changes only the catalog of Postgres.
ALTER TABLE "sluice"."remote" RENAME COLUMN "erase" TO "suppressed";

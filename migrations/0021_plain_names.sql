-- Columns take the word of the glossary (CONTRIBUTING.md). Each rename changes only the catalog of Postgres.
ALTER TABLE "sluice"."remote" RENAME COLUMN "held" TO "ref_count";--> statement-breakpoint
ALTER TABLE "sluice"."record_digest" RENAME COLUMN "traits" TO "feature_sets";--> statement-breakpoint
ALTER TABLE "sluice"."record_digest" RENAME COLUMN "gone" TO "outdated";--> statement-breakpoint
ALTER TABLE "sluice"."pipeline_schedule" RENAME COLUMN "withdrawn_at" TO "undeclared_at";--> statement-breakpoint
ALTER TABLE "sluice"."batch" RENAME COLUMN "wrong_alike" TO "miscounts";

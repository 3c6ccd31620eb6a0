ALTER TABLE "sluice"."batch_entries" ADD COLUMN "template" "bytea";
--> statement-breakpoint
-- It is compressed.
ALTER TABLE "sluice"."batch_entries" ALTER COLUMN "template" SET STORAGE EXTERNAL;--> statement-breakpoint
-- No condition compares these, and counting the identifiers of a sample takes most of the time of an analyze.
ALTER TABLE "sluice"."record" ALTER COLUMN "identifiers" SET STATISTICS 0, ALTER COLUMN "body" SET STATISTICS 0, ALTER COLUMN "hash" SET STATISTICS 0;

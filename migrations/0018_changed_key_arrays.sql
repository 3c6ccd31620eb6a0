ALTER TABLE "sluice"."changed_key" ADD COLUMN "keys" "bytea"[];--> statement-breakpoint
-- Digests do not compress, and trying costs more than the write.
ALTER TABLE "sluice"."changed_key" ALTER COLUMN "keys" SET STORAGE EXTERNAL;--> statement-breakpoint
-- No query has a condition on them.
ALTER TABLE "sluice"."changed_key" ALTER COLUMN "keys" SET STATISTICS 0;--> statement-breakpoint
INSERT INTO "sluice"."changed_key" ("destination_id", "key", "keys") SELECT "destination_id", ''::bytea, array_agg(DISTINCT "key") FROM "sluice"."changed_key" GROUP BY "destination_id";--> statement-breakpoint
DELETE FROM "sluice"."changed_key" WHERE "keys" IS NULL;--> statement-breakpoint
ALTER TABLE "sluice"."changed_key" DROP COLUMN "key";--> statement-breakpoint
ALTER TABLE "sluice"."changed_key" ALTER COLUMN "keys" SET NOT NULL;

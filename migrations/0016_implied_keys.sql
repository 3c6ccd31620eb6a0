CREATE TABLE "sluice"."implied_key" (
	"destination_id" integer NOT NULL,
	"chunk" integer NOT NULL,
	"entries" "bytea"[] NOT NULL,
	CONSTRAINT "implied_key_pkey" PRIMARY KEY("destination_id","chunk")
);
--> statement-breakpoint
-- Digests do not compress, and trying costs more than the write.
ALTER TABLE "sluice"."implied_key" ALTER COLUMN "entries" SET STORAGE EXTERNAL;--> statement-breakpoint
-- No query has a condition on them, and counting their elements took seconds of each analyze.
ALTER TABLE "sluice"."implied_key" ALTER COLUMN "entries" SET STATISTICS 0;--> statement-breakpoint
-- First loads write few keys now. Those of other plans are confirmed by an update of each: with a page half full it stays in place.
ALTER TABLE "sluice"."remote" SET (fillfactor = 50);--> statement-breakpoint
-- Keys that the earlier version stored as confirmed before their batch was settled: their own answers confirm them now.
INSERT INTO "sluice"."changed_key" ("destination_id", "key")
  SELECT m."destination_id", m."key" FROM "sluice"."batch" b JOIN "sluice"."remote" m ON m."destination_id" = b."destination_id" AND m."batch_id" = b."id"
  WHERE b."provisional" AND b."status" <> 'settled';--> statement-breakpoint
UPDATE "sluice"."remote" m SET "synced_hash" = null, "expires_at" = null, "batch_id" = null FROM "sluice"."batch" b
  WHERE b."provisional" AND b."status" <> 'settled' AND m."destination_id" = b."destination_id" AND m."batch_id" = b."id";--> statement-breakpoint
ALTER TABLE "sluice"."batch" DROP CONSTRAINT "batch_provisional";--> statement-breakpoint
ALTER TABLE "sluice"."batch" ADD COLUMN "load_id" bigint;--> statement-breakpoint
ALTER TABLE "sluice"."batch" ADD COLUMN "first_key" "bytea";--> statement-breakpoint
ALTER TABLE "sluice"."batch" ADD COLUMN "keys_stored" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "sluice"."record" ADD COLUMN "load_id" bigint;--> statement-breakpoint
CREATE INDEX "batch_of_load" ON "sluice"."batch" USING btree ("destination_id","load_id","first_key") WHERE load_id is not null;--> statement-breakpoint
ALTER TABLE "sluice"."batch" DROP COLUMN "provisional";--> statement-breakpoint
ALTER TABLE "sluice"."batch" ADD CONSTRAINT "batch_load" CHECK ("sluice"."batch"."load_id" is null or "sluice"."batch"."keys_stored" or "sluice"."batch"."status" not in ('parked', 'split', 'superseded'));--> statement-breakpoint
ALTER TABLE "sluice"."batch" ADD CONSTRAINT "batch_load_key" CHECK (("sluice"."batch"."load_id" is null) = ("sluice"."batch"."first_key" is null));
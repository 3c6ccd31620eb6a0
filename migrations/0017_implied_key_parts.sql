ALTER TABLE "sluice"."implied_key" ADD COLUMN "part" integer;--> statement-breakpoint
ALTER TABLE "sluice"."implied_key" ADD COLUMN "digests" "bytea";--> statement-breakpoint
ALTER TABLE "sluice"."implied_key" ADD COLUMN "record_keys" "bytea";--> statement-breakpoint
-- Digests do not compress, and trying costs more than the write.
ALTER TABLE "sluice"."implied_key" ALTER COLUMN "digests" SET STORAGE EXTERNAL;--> statement-breakpoint
ALTER TABLE "sluice"."implied_key" ALTER COLUMN "record_keys" SET STORAGE EXTERNAL;--> statement-breakpoint
UPDATE "sluice"."implied_key" SET "part" = 0,
  "digests" = (SELECT coalesce(string_agg(substring(e."entry" for 4), ''::bytea ORDER BY e."place"), '') FROM unnest("entries") WITH ORDINALITY AS e ("entry", "place")),
  "record_keys" = (SELECT coalesce(string_agg(substring(e."entry" from 9 for 6), ''::bytea ORDER BY e."place"), '') FROM unnest("entries") WITH ORDINALITY AS e ("entry", "place"));--> statement-breakpoint
ALTER TABLE "sluice"."implied_key" ALTER COLUMN "part" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "sluice"."implied_key" ALTER COLUMN "digests" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "sluice"."implied_key" ALTER COLUMN "record_keys" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "sluice"."implied_key" DROP CONSTRAINT "implied_key_pkey";--> statement-breakpoint
ALTER TABLE "sluice"."implied_key" ADD CONSTRAINT "implied_key_pkey" PRIMARY KEY("destination_id","chunk","part");--> statement-breakpoint
ALTER TABLE "sluice"."implied_key" DROP COLUMN "entries";

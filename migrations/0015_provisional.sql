ALTER TABLE "sluice"."batch" ADD COLUMN "provisional" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "sluice"."batch" ADD CONSTRAINT "batch_provisional" CHECK (not "sluice"."batch"."provisional" or "sluice"."batch"."status" not in ('parked', 'split', 'superseded'));--> statement-breakpoint
-- Answers to a first load write no key, and other runs write few of a page: a seventh is room enough.
ALTER TABLE "sluice"."remote" SET (fillfactor = 85);

CREATE TABLE "sluice"."batch_entries" (
	"batch_id" bigint PRIMARY KEY NOT NULL,
	"destination_id" integer NOT NULL,
	"first_key" "bytea" NOT NULL,
	"last_key" "bytea" NOT NULL,
	"record_keys" "bytea"[] NOT NULL,
	"keys" "bytea"[] NOT NULL,
	"changes" text[] NOT NULL,
	"hashes" "bytea"[] NOT NULL,
	"users" integer[] NOT NULL,
	"expires_at" timestamp with time zone,
	"first_offset" integer NOT NULL,
	"byte_lengths" integer[] NOT NULL
);
--> statement-breakpoint
CREATE INDEX "batch_entries_destination" ON "sluice"."batch_entries" USING btree ("destination_id");
--> statement-breakpoint
-- Digests do not compress.
ALTER TABLE "sluice"."batch_entries" ALTER COLUMN "record_keys" SET STORAGE EXTERNAL;--> statement-breakpoint
ALTER TABLE "sluice"."batch_entries" ALTER COLUMN "keys" SET STORAGE EXTERNAL;--> statement-breakpoint
ALTER TABLE "sluice"."batch_entries" ALTER COLUMN "hashes" SET STORAGE EXTERNAL;

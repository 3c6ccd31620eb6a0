CREATE TABLE "sluice"."record_quality" (
	"destination_id" integer PRIMARY KEY NOT NULL,
	"quality" jsonb NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sluice"."record_digest" ADD COLUMN "traits" "bytea" DEFAULT '' NOT NULL;
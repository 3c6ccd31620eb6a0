CREATE TABLE "sluice"."changed_key" (
	"destination_id" integer NOT NULL,
	"key" "bytea" NOT NULL
);
--> statement-breakpoint
DROP INDEX "sluice"."remote_open";--> statement-breakpoint
ALTER TABLE "sluice"."destination" ADD COLUMN "all_changed" boolean DEFAULT true NOT NULL;--> statement-breakpoint
CREATE INDEX "changed_key_destination" ON "sluice"."changed_key" USING btree ("destination_id");--> statement-breakpoint
ALTER TABLE "sluice"."destination" DROP COLUMN "settled_round";--> statement-breakpoint
ALTER TABLE "sluice"."remote" DROP COLUMN "round";--> statement-breakpoint
-- Without the round a key takes 100 bytes on its page, and 140 once it is confirmed: 33 of them have room for both.
ALTER TABLE "sluice"."remote" SET (fillfactor = 41);

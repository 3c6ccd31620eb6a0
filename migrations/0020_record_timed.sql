CREATE INDEX "record_timed" ON "sluice"."record" USING btree ("destination_id") WHERE effective_at is not null or expires_at is not null;--> statement-breakpoint
DROP INDEX "sluice"."record_expiring";

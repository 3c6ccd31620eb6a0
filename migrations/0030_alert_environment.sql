DROP INDEX "sluice"."alert_firing";--> statement-breakpoint
ALTER TABLE "sluice"."alert" ADD COLUMN "service" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "sluice"."alert" ADD COLUMN "credentials" text DEFAULT '' NOT NULL;--> statement-breakpoint
-- An alert belongs to the environment of its run. Without a run, or if it was deleted, to that of the last run of the pipeline. Without that
-- too, the environment stays empty, and the alert belongs to all.
UPDATE "sluice"."alert" a SET "service" = d."service", "credentials" = d."credentials"
FROM "sluice"."run" r JOIN "sluice"."destination" d ON d."id" = r."destination_id" AND d."credentials" IS NOT NULL
WHERE r."id" = coalesce(
  (SELECT x."id" FROM "sluice"."run" x WHERE x."id" = substring(a."detail" ->> 'runId' from '^r_(\d{1,18})$')::bigint),
  (SELECT max(x."id") FROM "sluice"."run" x WHERE x."pipeline" = a."pipeline" AND x."trigger" <> 'plan'));--> statement-breakpoint
CREATE UNIQUE INDEX "alert_firing" ON "sluice"."alert" USING btree ("service","credentials","pipeline","event") WHERE recovered_at is null;
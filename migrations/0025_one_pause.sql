-- Earlier versions could store two pauses of a destination, under two names of its pipeline. The older one stays; the audit log has both.
-- The first statement locks the table until the migration ends, so that no earlier version adds a pause in between.
ALTER TABLE "sluice"."pipeline_pause" DROP CONSTRAINT "pipeline_pause_pkey";--> statement-breakpoint
DELETE FROM "sluice"."pipeline_pause" p USING "sluice"."pipeline_pause" o
WHERE o."destination_id" = p."destination_id" AND (o."paused_at", o."pipeline") < (p."paused_at", p."pipeline");--> statement-breakpoint
ALTER TABLE "sluice"."pipeline_pause" ADD PRIMARY KEY ("destination_id");

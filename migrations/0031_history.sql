CREATE INDEX "run_stopped" ON "sluice"."run" USING btree ("pipeline","id") WHERE plan_id is null and guards <> '[]';--> statement-breakpoint
CREATE INDEX "run_plan" ON "sluice"."run" USING btree ("plan_id");--> statement-breakpoint
CREATE INDEX "run_rerun" ON "sluice"."run" USING btree ("rerun_of") WHERE rerun_of is not null;--> statement-breakpoint
CREATE INDEX "snapshot_open" ON "sluice"."snapshot" USING btree ("destination_id") WHERE status = 'open';--> statement-breakpoint
CREATE INDEX "snapshot_opened" ON "sluice"."snapshot" USING btree ("destination_id","opened_at");--> statement-breakpoint
CREATE INDEX "snapshot_run" ON "sluice"."snapshot" USING btree ("run_id");--> statement-breakpoint
CREATE INDEX "plan_last" ON "sluice"."plan" USING btree ("destination_id",coalesce(applied_at, created_at));--> statement-breakpoint
CREATE INDEX "plan_created" ON "sluice"."plan" USING btree ("destination_id","created_at");--> statement-breakpoint
CREATE INDEX "plan_applying" ON "sluice"."plan" USING btree ("destination_id") WHERE status = 'applying';--> statement-breakpoint
CREATE INDEX "plan_snapshot" ON "sluice"."plan" USING btree ("snapshot_id");--> statement-breakpoint
CREATE INDEX "plan_run" ON "sluice"."plan" USING btree ("run_id");
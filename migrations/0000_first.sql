CREATE SCHEMA "sluice";
--> statement-breakpoint
CREATE TABLE "sluice"."destination" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sluice"."destination_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"service" text NOT NULL,
	"kind" text NOT NULL,
	"account_id" text DEFAULT '' NOT NULL,
	"target_id" text NOT NULL,
	"state_version" bigint DEFAULT 0 NOT NULL,
	"desired_version" bigint DEFAULT 0 NOT NULL,
	"digest_key" "bytea" DEFAULT uuid_send(gen_random_uuid()) NOT NULL,
	"settled_round" integer DEFAULT 0 NOT NULL,
	"paused_at" timestamp with time zone,
	"paused_reason" text,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "destination_identity" UNIQUE("service","kind","account_id","target_id"),
	CONSTRAINT "destination_kind" CHECK ("sluice"."destination"."kind" in ('catalog', 'audience', 'do-not-reach'))
);
--> statement-breakpoint
CREATE TABLE "sluice"."reject" (
	"run_id" bigint NOT NULL,
	"line" bigint NOT NULL,
	"source" smallint DEFAULT 0 NOT NULL,
	"code" text NOT NULL,
	"field" text NOT NULL,
	"message" text NOT NULL,
	"mend" text NOT NULL,
	"record_key" "bytea",
	"cells" jsonb DEFAULT '[]'::jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sluice"."run" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sluice"."run_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"pipeline" text NOT NULL,
	"destination_id" integer,
	"trigger" text NOT NULL,
	"status" text NOT NULL,
	"scheduled_for" timestamp with time zone,
	"rerun_of" bigint,
	"options" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"plan_id" text,
	"snapshot_id" bigint,
	"counts" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"guards" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"warnings" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"stages" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"columns" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"error" jsonb,
	"worker_id" text,
	"epoch" integer DEFAULT 0 NOT NULL,
	"lease_until" timestamp with time zone,
	"cancel_requested_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"started_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	CONSTRAINT "run_tick" UNIQUE("pipeline","scheduled_for"),
	CONSTRAINT "run_trigger" CHECK ("sluice"."run"."trigger" in ('manual', 'schedule', 'backfill', 'rerun', 'plan', 'apply')),
	CONSTRAINT "run_status" CHECK ("sluice"."run"."status" in ('queued', 'running', 'succeeded', 'partial', 'withheld', 'failed', 'cancelled', 'skipped')),
	CONSTRAINT "run_finished" CHECK (("sluice"."run"."finished_at" is not null) = ("sluice"."run"."status" not in ('queued', 'running')))
);
--> statement-breakpoint
CREATE TABLE "sluice"."snapshot" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sluice"."snapshot_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"destination_id" integer NOT NULL,
	"run_id" bigint NOT NULL,
	"status" text NOT NULL,
	"sources" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"definition_hash" text NOT NULL,
	"suppression_version" bigint DEFAULT 0 NOT NULL,
	"counts" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"opened_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"closed_at" timestamp with time zone,
	CONSTRAINT "snapshot_status" CHECK ("sluice"."snapshot"."status" in ('open', 'closed', 'incomplete', 'discarded')),
	CONSTRAINT "snapshot_closed" CHECK (("sluice"."snapshot"."closed_at" is not null) = ("sluice"."snapshot"."status" <> 'open'))
);
--> statement-breakpoint
CREATE TABLE "sluice"."worker" (
	"id" text PRIMARY KEY NOT NULL,
	"role" text NOT NULL,
	"host" text NOT NULL,
	"host_scope" text NOT NULL,
	"pid" integer NOT NULL,
	"pid_started" text NOT NULL,
	"concurrency" integer DEFAULT 1 NOT NULL,
	"started_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"seen_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sluice"."budget" (
	"class" text PRIMARY KEY NOT NULL,
	"granted" bigint DEFAULT 0 NOT NULL,
	"request_limit" integer NOT NULL,
	"window_ms" integer NOT NULL,
	"blocked_until" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "sluice"."budget_slot" (
	"class" text NOT NULL,
	"slot" integer NOT NULL,
	"granted_at" timestamp with time zone NOT NULL,
	CONSTRAINT "budget_slot_pkey" PRIMARY KEY("class","slot")
);
--> statement-breakpoint
CREATE TABLE "sluice"."schedule" (
	"pipeline" text PRIMARY KEY NOT NULL,
	"cron" text NOT NULL,
	"timezone" text NOT NULL,
	"overlap" text NOT NULL,
	"last_scheduled_for" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	CONSTRAINT "schedule_overlap" CHECK ("sluice"."schedule"."overlap" in ('skip', 'queue'))
);
--> statement-breakpoint
CREATE TABLE "sluice"."tick" (
	"pipeline" text NOT NULL,
	"scheduled_for" timestamp with time zone NOT NULL,
	"outcome" text NOT NULL,
	"reason" text,
	"run_id" bigint,
	"decided_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "tick_pkey" PRIMARY KEY("pipeline","scheduled_for"),
	CONSTRAINT "tick_outcome" CHECK ("sluice"."tick"."outcome" in ('ran', 'queued', 'skipped', 'missed'))
);
--> statement-breakpoint
CREATE TABLE "sluice"."attempt" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sluice"."attempt_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"batch_id" bigint NOT NULL,
	"run_id" bigint NOT NULL,
	"epoch" integer NOT NULL,
	"worker_id" text NOT NULL,
	"body_sha256" "bytea" NOT NULL,
	"started_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"finished_at" timestamp with time zone,
	"outcome" text,
	"http_status" smallint,
	"reason" text,
	"answer" jsonb,
	"answer_sha256" "bytea",
	"duration_ms" integer,
	CONSTRAINT "attempt_outcome" CHECK ("sluice"."attempt"."outcome" in ('confirmed', 'partial', 'refused', 'retry', 'pause', 'ambiguous'))
);
--> statement-breakpoint
CREATE TABLE "sluice"."batch" (
	"id" bigint PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY (sequence name "sluice"."batch_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"plan_id" text NOT NULL,
	"destination_id" integer NOT NULL,
	"seq" integer NOT NULL,
	"phase" smallint DEFAULT 1 NOT NULL,
	"operation" text NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"body" "bytea",
	"body_sha256" "bytea" NOT NULL,
	"entry_count" integer NOT NULL,
	"user_count" integer NOT NULL,
	"parent_id" bigint,
	"expires_at" timestamp with time zone,
	"epoch" integer DEFAULT 0 NOT NULL,
	"worker_id" text,
	"lease_until" timestamp with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"wrong_alike" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp with time zone,
	"reason" text,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"settled_at" timestamp with time zone,
	CONSTRAINT "batch_seq" UNIQUE("plan_id","seq"),
	CONSTRAINT "batch_operation" CHECK ("sluice"."batch"."operation" in ('upsert', 'delete')),
	CONSTRAINT "batch_status" CHECK ("sluice"."batch"."status" in ('pending', 'in_flight', 'ambiguous', 'parked', 'settled', 'split', 'superseded')),
	CONSTRAINT "batch_lease_held" CHECK (("sluice"."batch"."status" = 'in_flight') = ("sluice"."batch"."lease_until" is not null)),
	CONSTRAINT "batch_settled" CHECK (("sluice"."batch"."settled_at" is not null) = ("sluice"."batch"."status" in ('settled', 'split', 'superseded')))
);
--> statement-breakpoint
CREATE TABLE "sluice"."entry" (
	"batch_id" bigint NOT NULL,
	"ord" integer NOT NULL,
	"destination_id" integer NOT NULL,
	"record_key" "bytea" NOT NULL,
	"keys" "bytea"[] NOT NULL,
	"change" text NOT NULL,
	"hash" "bytea",
	"expires_at" timestamp with time zone,
	"users" integer DEFAULT 1 NOT NULL,
	"byte_offset" integer NOT NULL,
	"byte_length" integer NOT NULL,
	"outcome" text DEFAULT 'pending' NOT NULL,
	"code" text,
	"message" text,
	CONSTRAINT "entry_pkey" PRIMARY KEY("batch_id","ord"),
	CONSTRAINT "entry_change" CHECK ("sluice"."entry"."change" in ('create', 'update', 'delete', 'renewal')),
	CONSTRAINT "entry_outcome" CHECK ("sluice"."entry"."outcome" in ('pending', 'confirmed', 'refused', 'ambiguous', 'superseded'))
);
--> statement-breakpoint
CREATE TABLE "sluice"."plan" (
	"id" text PRIMARY KEY NOT NULL,
	"run_id" bigint NOT NULL,
	"pipeline" text NOT NULL,
	"destination_id" integer NOT NULL,
	"snapshot_id" bigint,
	"status" text NOT NULL,
	"state_version" bigint NOT NULL,
	"digest" text NOT NULL,
	"counts" jsonb NOT NULL,
	"guards" jsonb NOT NULL,
	"review" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"applied_at" timestamp with time zone,
	CONSTRAINT "plan_status" CHECK ("sluice"."plan"."status" in ('ready', 'applying', 'applied', 'superseded'))
);
--> statement-breakpoint
CREATE TABLE "sluice"."record" (
	"destination_id" integer NOT NULL,
	"key" "bytea" NOT NULL,
	"hash" "bytea" NOT NULL,
	"body" text,
	"identifiers" "bytea"[],
	"effective_at" timestamp with time zone,
	"expires_at" timestamp with time zone,
	"line" bigint NOT NULL,
	"status" text DEFAULT 'live' NOT NULL,
	"snapshot_id" bigint NOT NULL,
	CONSTRAINT "record_pkey" PRIMARY KEY("destination_id","key"),
	CONSTRAINT "record_status" CHECK ("sluice"."record"."status" in ('live', 'stale', 'missing'))
);
--> statement-breakpoint
CREATE TABLE "sluice"."record_digest" (
	"destination_id" integer NOT NULL,
	"chunk" integer NOT NULL,
	"digests" "bytea" NOT NULL,
	"keys" "bytea" NOT NULL,
	"key_ends" integer[] NOT NULL,
	"gone" integer[] DEFAULT '{}' NOT NULL,
	CONSTRAINT "record_digest_pkey" PRIMARY KEY("destination_id","chunk")
);
--> statement-breakpoint
CREATE TABLE "sluice"."remote" (
	"destination_id" integer NOT NULL,
	"key" "bytea" NOT NULL,
	"held" integer DEFAULT 0 NOT NULL,
	"group_key" "bytea",
	"desired_hash" "bytea",
	"synced_hash" "bytea",
	"remote_key" text,
	"expires_at" timestamp with time zone,
	"late_until" timestamp with time zone,
	"round" integer DEFAULT 2147483647 NOT NULL,
	"synced_at" timestamp with time zone,
	"batch_id" bigint,
	"refused_code" text,
	"refused_message" text,
	CONSTRAINT "remote_pkey" PRIMARY KEY("destination_id","key")
);
--> statement-breakpoint
CREATE TABLE "sluice"."audit" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sluice"."audit_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"actor" text NOT NULL,
	"what" text NOT NULL,
	"run_id" bigint,
	"plan_id" text,
	"batch_id" bigint,
	"detail" jsonb DEFAULT '{}'::jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sluice"."webhook_event" (
	"id" text PRIMARY KEY NOT NULL,
	"type" text NOT NULL,
	"body" jsonb NOT NULL,
	"received_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sluice"."run" ADD CONSTRAINT "run_destination_id_destination_id_fk" FOREIGN KEY ("destination_id") REFERENCES "sluice"."destination"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sluice"."snapshot" ADD CONSTRAINT "snapshot_destination_id_destination_id_fk" FOREIGN KEY ("destination_id") REFERENCES "sluice"."destination"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sluice"."snapshot" ADD CONSTRAINT "snapshot_run_id_run_id_fk" FOREIGN KEY ("run_id") REFERENCES "sluice"."run"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sluice"."batch" ADD CONSTRAINT "batch_plan_id_plan_id_fk" FOREIGN KEY ("plan_id") REFERENCES "sluice"."plan"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sluice"."plan" ADD CONSTRAINT "plan_run_id_run_id_fk" FOREIGN KEY ("run_id") REFERENCES "sluice"."run"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sluice"."plan" ADD CONSTRAINT "plan_destination_id_destination_id_fk" FOREIGN KEY ("destination_id") REFERENCES "sluice"."destination"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "reject_run" ON "sluice"."reject" USING btree ("run_id","source","line");--> statement-breakpoint
CREATE INDEX "reject_key" ON "sluice"."reject" USING btree ("record_key") WHERE record_key is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "run_one_active" ON "sluice"."run" USING btree ("destination_id") WHERE status = 'running';--> statement-breakpoint
CREATE INDEX "run_by_pipeline" ON "sluice"."run" USING btree ("pipeline","id");--> statement-breakpoint
CREATE INDEX "run_open" ON "sluice"."run" USING btree ("status") WHERE status in ('queued', 'running');--> statement-breakpoint
CREATE INDEX "snapshot_last" ON "sluice"."snapshot" USING btree ("destination_id","id");--> statement-breakpoint
CREATE INDEX "attempt_batch" ON "sluice"."attempt" USING btree ("batch_id");--> statement-breakpoint
CREATE INDEX "attempt_run" ON "sluice"."attempt" USING btree ("run_id");--> statement-breakpoint
CREATE INDEX "batch_open" ON "sluice"."batch" USING btree ("destination_id","phase","seq") WHERE status in ('pending', 'in_flight', 'ambiguous', 'parked');--> statement-breakpoint
CREATE INDEX "batch_ends" ON "sluice"."batch" USING btree ("destination_id","expires_at") WHERE status = 'settled' and expires_at is not null;--> statement-breakpoint
CREATE INDEX "batch_lease" ON "sluice"."batch" USING btree ("lease_until") WHERE status = 'in_flight';--> statement-breakpoint
CREATE INDEX "entry_record" ON "sluice"."entry" USING btree ("destination_id","record_key");--> statement-breakpoint
CREATE INDEX "record_not_live" ON "sluice"."record" USING btree ("destination_id") WHERE status <> 'live';--> statement-breakpoint
CREATE INDEX "record_expiring" ON "sluice"."record" USING btree ("destination_id") WHERE expires_at is not null;--> statement-breakpoint
CREATE INDEX "remote_open" ON "sluice"."remote" USING btree ("destination_id","round");--> statement-breakpoint
CREATE INDEX "remote_group" ON "sluice"."remote" USING btree ("destination_id","group_key") WHERE group_key is not null;--> statement-breakpoint
CREATE INDEX "remote_late" ON "sluice"."remote" USING btree ("destination_id") WHERE late_until is not null;--> statement-breakpoint
CREATE INDEX "audit_run" ON "sluice"."audit" USING btree ("run_id");--> statement-breakpoint
CREATE INDEX "webhook_event_received" ON "sluice"."webhook_event" USING btree ("received_at");
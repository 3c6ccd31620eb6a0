CREATE TABLE "sluice"."alert" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sluice"."alert_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"pipeline" text NOT NULL,
	"event" text NOT NULL,
	"detail" jsonb NOT NULL,
	"fired_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"recovered_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "sluice"."alert_delivery" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sluice"."alert_delivery_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"alert_id" bigint NOT NULL,
	"receiver" text NOT NULL,
	"state" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"delivered_at" timestamp with time zone,
	"failed_at" timestamp with time zone,
	"last_error" text,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "alert_delivery_state" CHECK ("sluice"."alert_delivery"."state" in ('firing', 'recovered'))
);
--> statement-breakpoint
CREATE TABLE "sluice"."pipeline_pause" (
	"destination_id" integer NOT NULL,
	"pipeline" text NOT NULL,
	"paused_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"actor" text NOT NULL,
	"reason" text,
	CONSTRAINT "pipeline_pause_pkey" PRIMARY KEY("destination_id","pipeline")
);
--> statement-breakpoint
CREATE TABLE "sluice"."run_request" (
	"key" text PRIMARY KEY NOT NULL,
	"pipeline" text NOT NULL,
	"run_id" bigint NOT NULL,
	"requested_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sluice"."run" ADD COLUMN "progress" jsonb;--> statement-breakpoint
ALTER TABLE "sluice"."audit" ADD COLUMN "pipeline" text;--> statement-breakpoint
ALTER TABLE "sluice"."alert_delivery" ADD CONSTRAINT "alert_delivery_alert_id_alert_id_fk" FOREIGN KEY ("alert_id") REFERENCES "sluice"."alert"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sluice"."pipeline_pause" ADD CONSTRAINT "pipeline_pause_destination_id_destination_id_fk" FOREIGN KEY ("destination_id") REFERENCES "sluice"."destination"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "alert_firing" ON "sluice"."alert" USING btree ("pipeline","event") WHERE recovered_at is null;--> statement-breakpoint
CREATE INDEX "alert_recent" ON "sluice"."alert" USING btree ("fired_at");--> statement-breakpoint
CREATE INDEX "alert_delivery_open" ON "sluice"."alert_delivery" USING btree ("next_attempt_at") WHERE delivered_at is null and failed_at is null;--> statement-breakpoint
CREATE INDEX "run_request_age" ON "sluice"."run_request" USING btree ("requested_at");--> statement-breakpoint
CREATE INDEX "audit_pipeline" ON "sluice"."audit" USING btree ("pipeline","id") WHERE pipeline is not null;
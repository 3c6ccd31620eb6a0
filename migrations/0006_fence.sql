CREATE TABLE "sluice"."pipeline_schedule" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sluice"."pipeline_schedule_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"destination_id" integer NOT NULL,
	"credentials" text NOT NULL,
	"pipeline" text NOT NULL,
	"cron" text NOT NULL,
	"timezone" text NOT NULL,
	"overlap" text NOT NULL,
	"last_scheduled_for" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"folder" text DEFAULT '' NOT NULL,
	"declared_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"withdrawn_at" timestamp with time zone,
	CONSTRAINT "pipeline_schedule_identity" UNIQUE("destination_id","credentials","pipeline","cron","timezone"),
	CONSTRAINT "pipeline_schedule_overlap" CHECK ("sluice"."pipeline_schedule"."overlap" in ('skip', 'queue'))
);
--> statement-breakpoint
-- What a schedule has decided is kept. Whose it is, its first declaration says: until then the credentials are empty.
INSERT INTO "sluice"."pipeline_schedule" ("destination_id", "credentials", "pipeline", "cron", "timezone", "overlap", "last_scheduled_for")
SELECT r."destination_id", '', s."pipeline", s."cron", s."timezone", s."overlap", s."last_scheduled_for"
FROM "sluice"."schedule" s CROSS JOIN LATERAL (
	SELECT "destination_id" FROM "sluice"."run" WHERE "pipeline" = s."pipeline" AND "destination_id" IS NOT NULL ORDER BY "trigger" = 'schedule' DESC, "id" DESC LIMIT 1) r
WHERE s."enabled";
--> statement-breakpoint
DROP TABLE "sluice"."schedule";
--> statement-breakpoint
ALTER TABLE "sluice"."run" DROP CONSTRAINT "run_tick";--> statement-breakpoint
ALTER TABLE "sluice"."destination" ADD COLUMN "credentials" text;--> statement-breakpoint
ALTER TABLE "sluice"."run" ADD COLUMN "definition" text;--> statement-breakpoint
ALTER TABLE "sluice"."tick" ADD COLUMN "destination_id" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE "sluice"."tick" t SET "destination_id" = r."destination_id" FROM "sluice"."run" r WHERE r."id" = t."run_id" AND t."pipeline" <> '' AND r."destination_id" IS NOT NULL;
--> statement-breakpoint
ALTER TABLE "sluice"."pipeline_schedule" ADD CONSTRAINT "pipeline_schedule_destination_id_destination_id_fk" FOREIGN KEY ("destination_id") REFERENCES "sluice"."destination"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sluice"."tick" DROP CONSTRAINT "tick_pkey";
--> statement-breakpoint
ALTER TABLE "sluice"."tick" ADD CONSTRAINT "tick_pkey" PRIMARY KEY("destination_id","pipeline","scheduled_for");--> statement-breakpoint
ALTER TABLE "sluice"."run" ADD CONSTRAINT "run_tick" UNIQUE("destination_id","pipeline","scheduled_for");
CREATE TABLE "sluice"."product_set" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sluice"."product_set_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"destination_id" integer NOT NULL,
	"name" text NOT NULL,
	"state" text NOT NULL,
	"set_id" text,
	"content" jsonb NOT NULL,
	"known_ids" text[],
	"late_until" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"confirmed_at" timestamp with time zone,
	CONSTRAINT "product_set_state" CHECK ("sluice"."product_set"."state" in ('creating', 'kept', 'removing')),
	CONSTRAINT "product_set_confirmed" CHECK ("sluice"."product_set"."state" = 'creating' or "sluice"."product_set"."set_id" is not null)
);
--> statement-breakpoint
ALTER TABLE "sluice"."run" ADD COLUMN "product_sets" jsonb;--> statement-breakpoint
ALTER TABLE "sluice"."plan" ADD COLUMN "product_sets" jsonb;--> statement-breakpoint
ALTER TABLE "sluice"."product_set" ADD CONSTRAINT "product_set_destination_id_destination_id_fk" FOREIGN KEY ("destination_id") REFERENCES "sluice"."destination"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "product_set_destination" ON "sluice"."product_set" USING btree ("destination_id");--> statement-breakpoint
CREATE UNIQUE INDEX "product_set_id" ON "sluice"."product_set" USING btree ("destination_id","set_id") WHERE set_id is not null;
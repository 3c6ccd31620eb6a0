CREATE TABLE "sluice"."erased_key" (
	"service" text NOT NULL,
	"destination_id" integer DEFAULT 0 NOT NULL,
	"key" "bytea" NOT NULL,
	"erasure_id" bigint NOT NULL,
	CONSTRAINT "erased_key_pkey" PRIMARY KEY("service","destination_id","key")
);
--> statement-breakpoint
CREATE TABLE "sluice"."erasure" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sluice"."erasure_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"service" text NOT NULL,
	"actor" text NOT NULL,
	"reason" text,
	"identifiers" integer NOT NULL,
	"erased_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"audiences" integer,
	"planned_at" timestamp with time zone,
	"purged_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "sluice"."erasure_delete" (
	"erasure_id" bigint NOT NULL,
	"batch_id" bigint NOT NULL,
	"confirmed" boolean DEFAULT false NOT NULL,
	CONSTRAINT "erasure_delete_pkey" PRIMARY KEY("erasure_id","batch_id")
);
--> statement-breakpoint
ALTER TABLE "sluice"."erased_key" ADD CONSTRAINT "erased_key_erasure_id_erasure_id_fk" FOREIGN KEY ("erasure_id") REFERENCES "sluice"."erasure"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sluice"."erasure_delete" ADD CONSTRAINT "erasure_delete_erasure_id_erasure_id_fk" FOREIGN KEY ("erasure_id") REFERENCES "sluice"."erasure"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sluice"."erasure_delete" ADD CONSTRAINT "erasure_delete_batch_id_batch_id_fk" FOREIGN KEY ("batch_id") REFERENCES "sluice"."batch"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "erased_key_erasure" ON "sluice"."erased_key" USING btree ("erasure_id");--> statement-breakpoint
CREATE INDEX "erasure_service" ON "sluice"."erasure" USING btree ("service","id");
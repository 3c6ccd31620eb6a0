ALTER TABLE "sluice"."run_request" ADD COLUMN "options" text;

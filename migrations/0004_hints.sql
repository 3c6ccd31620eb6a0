ALTER TABLE "sluice"."reject" RENAME COLUMN "mend" TO "hint";
--> statement-breakpoint
UPDATE "sluice"."run" SET
	"error" = replace("error"::text, '"mend":', '"hint":')::jsonb,
	"guards" = replace("guards"::text, '"mend":', '"hint":')::jsonb,
	"warnings" = replace("warnings"::text, '"mend":', '"hint":')::jsonb
WHERE concat("error"::text, "guards"::text, "warnings"::text) LIKE '%"mend":%';
--> statement-breakpoint
UPDATE "sluice"."plan" SET "guards" = replace("guards"::text, '"mend":', '"hint":')::jsonb WHERE "guards"::text LIKE '%"mend":%';

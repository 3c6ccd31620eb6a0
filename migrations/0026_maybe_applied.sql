-- Open batches that the service may have applied: by an attempt with an unknown outcome, of the batch or of one whose entries moved to it.
-- Earlier versions stored this only in the status, and lost it for a part when a worker died, when a part was parked, and at a pause.
ALTER TABLE "sluice"."batch" ADD COLUMN "maybe_applied" boolean DEFAULT false NOT NULL;--> statement-breakpoint
WITH RECURSIVE "up" ("id", "ancestor", "parent") AS (
  SELECT "id", "id", "parent_id" FROM "sluice"."batch" WHERE "status" IN ('pending', 'in_flight', 'ambiguous', 'parked')
  UNION ALL SELECT u."id", p."id", p."parent_id" FROM "up" u JOIN "sluice"."batch" p ON p."id" = u."parent")
UPDATE "sluice"."batch" b SET "maybe_applied" = true, "status" = CASE b."status" WHEN 'pending' THEN 'ambiguous' ELSE b."status" END
WHERE b."status" = 'ambiguous' OR b."id" IN (
  SELECT u."id" FROM "up" u JOIN "sluice"."attempt" a ON a."batch_id" = u."ancestor"
  WHERE a."outcome" = 'ambiguous' OR (a."outcome" = 'partial' AND (a."answer" ->> 'ambiguous')::int > 0)
    OR (a."outcome" = 'pause' AND (a."reason" = 'count_mismatch' OR a."reason" LIKE 'http-%-unreadable')));--> statement-breakpoint
ALTER TABLE "sluice"."batch" ADD CONSTRAINT "batch_maybe_applied" CHECK (case "sluice"."batch"."status" when 'pending' then not "sluice"."batch"."maybe_applied" when 'ambiguous' then "sluice"."batch"."maybe_applied" else true end);

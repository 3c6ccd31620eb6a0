-- The service counts requests by user, so each set of credentials has a budget of its own. Each takes over the grants and the wait of the budget
-- that all credentials shared at their service.
INSERT INTO "sluice"."budget" ("class", "granted", "request_limit", "window_ms", "blocked_until")
SELECT DISTINCT d."service" || ' ' || d."credentials" || substr(b."class", length(d."service") + 1), b."granted", b."request_limit", b."window_ms", b."blocked_until"
FROM "sluice"."budget" b JOIN "sluice"."destination" d ON b."class" LIKE '% %' AND d."service" = left(b."class", strpos(b."class", ' ') - 1)
WHERE d."credentials" IS NOT NULL;--> statement-breakpoint
INSERT INTO "sluice"."budget_slot" ("class", "slot", "granted_at")
SELECT DISTINCT d."service" || ' ' || d."credentials" || substr(s."class", length(d."service") + 1), s."slot", s."granted_at"
FROM "sluice"."budget_slot" s JOIN "sluice"."destination" d ON s."class" LIKE '% %' AND d."service" = left(s."class", strpos(s."class", ' ') - 1)
WHERE d."credentials" IS NOT NULL;--> statement-breakpoint
DELETE FROM "sluice"."budget_slot" WHERE "class" NOT LIKE '% % %';--> statement-breakpoint
DELETE FROM "sluice"."budget" WHERE "class" NOT LIKE '% % %';

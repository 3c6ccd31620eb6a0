-- How rows lie on the disk, which the schema in TypeScript cannot say. Measured on Postgres 18, 2026-11-21.
-- Frozen bodies are hex digests for the most part: compressing them costs more time than it saves bytes.
ALTER TABLE "sluice"."batch" ALTER COLUMN "body" SET STORAGE EXTERNAL;
--> statement-breakpoint
-- Neighbours on a page are settled by the same answer. With room for a second version of each, their rows are rewritten in
-- place and no index is written (HOT): 97 of 100 at 45, 35 of 100 at 70.
ALTER TABLE "sluice"."remote" SET (fillfactor = 45);
--> statement-breakpoint
-- A changed record is rewritten in place as long as few of a page change at once.
ALTER TABLE "sluice"."record" SET (fillfactor = 90);

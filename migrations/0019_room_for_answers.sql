-- An answer writes about 20 bytes more than the plan: content, time and batch. With half of a page free, one key in seven did not fit
-- beside its first version.
ALTER TABLE "sluice"."remote" SET (fillfactor = 42);

/** Returns the result of `work`. Rejects if `work` has not ended after `limitMs`; `work` itself is not stopped. */
export async function inTime<Result>(limitMs: number, work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${limitMs / 1000} s`)), limitMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

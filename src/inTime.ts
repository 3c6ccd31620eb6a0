/** Returns the result of `work`. Rejects if `work` has not ended after `limitMs`; `work` itself is not stopped. */
export async function inTime<Result>(limitMs: number, work: Promise<Result>): Promise<Result> {
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(new Error(`no answer within ${limitMs / 1000} s`)), limitMs)
  try {
    return await Promise.race([work, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

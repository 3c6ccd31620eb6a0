/**
 * Returns the result of `work`. Rejects if `work` has not ended after `limitMs`; `work` itself is not stopped. `failure`: start of the
 * message.
 */
export async function inTime<Result>(limitMs: number, work: Promise<Result>, failure = 'no answer'): Promise<Result> {
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(new Error(`${failure} within ${limitMs / 1000} s`)), limitMs)
  try {
    return await Promise.race([work, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

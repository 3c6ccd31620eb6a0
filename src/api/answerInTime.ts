/** Limits the time of answers. If a database stops answering without closing its connections, a statement never ends. */
import type { MiddlewareHandler } from 'hono'

/** Default of the maximum time of an answer in milliseconds. */
export const defaultAnswerMs = 15_000
/** Maximum value of the query parameter `wait` in seconds, because proxies close requests that stay open longer. */
export const longestWaitS = 60

/** Returns the seconds of the query parameter `wait`, from 0 to `longestWaitS`; 0 if it is missing or not a number. */
export function waitSeconds(value: string | undefined): number {
  return Math.min(Math.max(0, Number(value ?? 0) || 0), longestWaitS)
}

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

/** Creates middleware that fails if the answer has not begun after `limitMs` plus the `wait` of the request. */
export function answerInTime(limitMs: number): MiddlewareHandler {
  return (c, next) => inTime(limitMs + waitSeconds(c.req.query('wait')) * 1000, next())
}

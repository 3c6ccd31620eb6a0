/** Limits the time of answers. Without a limit, a request would wait forever for a database that hangs with open connections. */
import type { MiddlewareHandler } from 'hono'
import { inTime } from '../inTime.ts'

/** Default of the maximum time of an answer in milliseconds. */
export const defaultAnswerMs = 15_000
/** Maximum value of the query parameter `wait` in seconds, because proxies close requests that stay open longer. */
export const longestWaitS = 60

/** Returns the seconds of the query parameter `wait`, from 0 to `longestWaitS`; 0 if it is missing or not a number. */
export function waitSeconds(value: string | undefined): number {
  return Math.min(Math.max(0, Number(value ?? 0) || 0), longestWaitS)
}

/** Creates middleware that fails if the answer has not begun after `limitMs` plus the `wait` of the request. */
export function answerInTime(limitMs: number): MiddlewareHandler {
  return (c, next) => inTime(limitMs + waitSeconds(c.req.query('wait')) * 1000, next())
}

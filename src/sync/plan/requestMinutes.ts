import { destinationOf } from '../../destinations/index.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { limitOf } from '../../service/contract/rateLimits.ts'

/**
 * Returns the minutes until the last request may be sent at the service's rate limits, rounded up. `requests`: number of requests by class
 * of limit.
 */
export function requestMinutes(requests: Readonly<Record<string, number>>): number {
  let minutes = 0
  for (const [name, count] of Object.entries(requests)) {
    const { limit, windowMs } = limitOf(name)
    minutes = Math.max(minutes, ((Math.ceil(count / limit) - 1) * windowMs) / 60_000)
  }
  return Math.ceil(minutes)
}

/** Returns the minimum minutes of a full refresh of `records` records at the service's rate limits; undefined if `records` is undefined. */
export function refreshMinutes({ destination }: Pipeline, records: number | undefined): number | undefined {
  if (records === undefined) return undefined
  const type = destinationOf(destination.kind)
  const recordsPerOperation = type.membership(destination)?.usersPerOperation ?? 1
  const operations = Math.ceil(records / recordsPerOperation)
  return requestMinutes({ [type.limitClass('upsert')]: Math.ceil(operations / type.limits.entries) })
}

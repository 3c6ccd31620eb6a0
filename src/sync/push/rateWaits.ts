/** Sums the time that requests of this process waited for a shared rate budget, for metrics. */

const waitedMs = new Map<string, number>()

/** Adds a wait. `budget`: name of the budget, `<service> <credentials> <class>`. `ms`: sum over the requests that waited. */
export function noteRateWait(budget: string, ms: number): void {
  waitedMs.set(budget, (waitedMs.get(budget) ?? 0) + ms)
}

/** Returns the sums since the start of the process. */
export function rateWaits(): readonly { readonly budget: string; readonly seconds: number }[] {
  return [...waitedMs].map(([budget, ms]) => ({ budget, seconds: ms / 1000 }))
}

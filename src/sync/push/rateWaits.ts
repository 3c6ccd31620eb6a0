/** Sums the time that requests of this process waited for the shared rate budget, by class of limit, for metrics. */
const waitedMs = new Map<string, number>()

/** Adds a wait. `ms`: sum over the requests that waited. */
export function noteRateWait(limitClass: string, ms: number): void {
  waitedMs.set(limitClass, (waitedMs.get(limitClass) ?? 0) + ms)
}

/** Returns the sums since the start of the process. `limitClass`: name of the budget, `<service> <class>`. */
export function rateWaits(): readonly { readonly limitClass: string; readonly seconds: number }[] {
  return [...waitedMs].map(([limitClass, ms]) => ({ limitClass, seconds: ms / 1000 }))
}

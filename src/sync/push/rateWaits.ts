/** Sums the time that requests of this process waited for the shared rate budget, by class of limit, for metrics. */
const waitedMs = new Map<string, number>()

export function noteRateWait(limitClass: string, ms: number): void {
  waitedMs.set(limitClass, (waitedMs.get(limitClass) ?? 0) + ms)
}

export function rateWaits(): readonly { readonly limitClass: string; readonly seconds: number }[] {
  return [...waitedMs].map(([limitClass, ms]) => ({ limitClass, seconds: ms / 1000 }))
}

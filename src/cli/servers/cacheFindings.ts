import type { Clock } from '../../clock.ts'
import type { Logger } from '../../log.ts'
import type { Finding } from '../../model/report.ts'

/** Maximum time in milliseconds to wait for the first findings. A service that does not answer takes 15 s for each request. */
const firstFindingsMs = 5_000
/** Age in milliseconds from which findings of the doctor are refreshed. They are reused, because its checks call the service. */
const maxAgeMs = 60_000

/**
 * Returns a function that returns the last findings and refreshes old ones in the background. Only calls before the first findings wait, at
 * most 5 s, and reject if `examine` does; then the checks are shown as running. A later failure is logged, and the old findings are kept.
 */
export function cacheFindings(
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  examine: () => Promise<readonly Finding[]>,
): () => Promise<readonly Finding[]> {
  let known: readonly Finding[] | undefined
  let examinedAt = 0
  let running: Promise<void> | undefined
  const refresh = async () => {
    try {
      known = await examine()
      examinedAt = clock.monotonic()
    } finally {
      running = undefined
    }
  }
  return async () => {
    if (running === undefined && (known === undefined || clock.monotonic() - examinedAt > maxAgeMs)) {
      running = refresh()
      // Without this handler, a failure in the background would end the process.
      running.catch((error: unknown) =>
        log.warn({ reason: error instanceof Error ? error.name : 'error' }, 'the checks of the doctor failed'),
      )
    }
    if (known === undefined) await Promise.race([running, clock.sleep(firstFindingsMs)])
    return known ?? [{ check: 'doctor', state: 'warning', message: 'the checks are still running', hint: 'sluice doctor' }]
  }
}

import type { Clock } from '../../clock.ts'
import type { Logger } from '../../log.ts'
import type { Finding } from '../../model/report.ts'

/** Maximum wait of a call in milliseconds. If the service does not answer, each request of the doctor takes 15 s. */
const maxWaitMs = 5_000
/** Age in milliseconds from which findings are refreshed. Younger ones are reused, because the checks call the service. */
const maxAgeMs = 60_000
/** Age in milliseconds from which a call waits for the refresh, because the state of the system may have changed since. */
const outdatedMs = 300_000

/**
 * Returns a function that returns the last findings of `examine`, and refreshes old ones in the background. Before the first findings, a
 * call waits for them up to 5 s, then returns a warning that the checks are still running. The call rejects if `examine` rejects meanwhile.
 * With outdated findings, a call also waits up to 5 s. After a later failure, calls return the last findings. All failures are logged.
 */
export function cacheFindings(
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  examine: () => Promise<readonly Finding[]>,
): () => Promise<readonly Finding[]> {
  let findings: readonly Finding[] | undefined
  let examinedAt = 0
  let running: Promise<void> | undefined
  const refresh = async () => {
    try {
      findings = await examine()
      examinedAt = clock.monotonic()
    } finally {
      running = undefined
    }
  }
  return async () => {
    if (running === undefined && (findings === undefined || clock.monotonic() - examinedAt > maxAgeMs)) {
      running = refresh()
      // Without this handler, a failure in the background would end the process.
      running.catch((error: unknown) =>
        log.warn({ reason: error instanceof Error ? error.name : 'error' }, 'the checks of the doctor failed'),
      )
    }
    if (findings === undefined) await Promise.race([running, clock.sleep(maxWaitMs)])
    else if (running !== undefined && clock.monotonic() - examinedAt > outdatedMs)
      await Promise.race([running.catch(() => undefined), clock.sleep(maxWaitMs)])
    return findings ?? [{ check: 'doctor', state: 'warning', message: 'the checks are still running', hint: 'sluice doctor' }]
  }
}

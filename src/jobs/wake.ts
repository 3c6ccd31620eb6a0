import type { Clock } from '../clock.ts'
import type { Database } from '../db/database.ts'

/** Sleep between two polls. A notification of the database ends it early. */
export interface Wake {
  /** Sleeps up to `ms`, or until `signal` aborts. Returns immediately if a notification came since the last sleep ended. Never rejects. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Stops listening. */
  readonly close: () => void
}

/** Returns a sleep that any notification of the database ends early. The caller must close it. */
export function wakeOnNotification(db: Database, clock: Clock): Wake {
  let woken = false
  let wake = () => {}
  const close = db.listen(() => {
    woken = true
    wake()
  })
  return {
    async sleep(ms, signal) {
      if (!woken) {
        const early = new AbortController()
        wake = () => early.abort()
        await clock.sleep(ms, AbortSignal.any([early.signal, signal]))
      }
      woken = false
    },
    close,
  }
}

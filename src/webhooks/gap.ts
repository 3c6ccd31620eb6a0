/** The time in which events had to be refused because the database was down (guarantees H4). In memory: there was no database. */
import type { Logger } from '../log.ts'

const ALARM_AFTER_MS = 3_600_000

export interface Gap {
  readonly from: Date
  readonly to: Date
  readonly refused: number
}

export class GapKeeper {
  readonly #log: Logger
  readonly #now: () => number
  #from: number | undefined
  #refused = 0
  #alarmed = false

  constructor(log: Logger, now: () => number) {
    this.#log = log
    this.#now = now
  }

  /** Since when events are refused; undefined when all is well. */
  get since(): Date | undefined {
    return this.#from === undefined ? undefined : new Date(this.#from)
  }

  refused(): void {
    const now = this.#now()
    if (this.#from === undefined) {
      this.#from = now
      this.#log.warn({}, 'webhook events are refused: the database does not answer')
    }
    this.#refused++
    if (!this.#alarmed && now - this.#from >= ALARM_AFTER_MS) {
      this.#alarmed = true
      this.#log.error(
        { minutes: Math.round((now - this.#from) / 60_000), refused: this.#refused },
        'webhook events have been refused for an hour',
      )
    }
  }

  /** Ends the gap at the first event stored again; undefined when there was none. */
  stored(): Gap | undefined {
    if (this.#from === undefined) return undefined
    const gap = { from: new Date(this.#from), to: new Date(this.#now()), refused: this.#refused }
    this.#from = undefined
    this.#refused = 0
    this.#alarmed = false
    this.#log.warn({ refused: gap.refused }, 'webhook events are stored again; a replay of the gap is needed')
    return gap
  }

  /** Reopens a gap that could not be stored, from where it began. */
  reopen(gap: Gap): void {
    this.#from = Math.min(gap.from.getTime(), this.#from ?? gap.from.getTime())
    this.#refused += gap.refused
  }
}

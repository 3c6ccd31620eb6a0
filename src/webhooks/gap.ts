/** Tracks the gap: the time in which events are refused because the store fails (docs/guarantees.md#webhook-delivery). */
import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'

/** Age of a gap in milliseconds from which the next refusal logs an error, once. */
const alarmAfterMs = 3_600_000

/** Time in which events were refused, with the number of refused deliveries. */
export interface Gap {
  readonly from: Date
  readonly to: Date
  readonly refused: number
}

/** Receiver that refused the events of a gap. Only a process of the same service and application can request their replay. */
export interface GapReceiver {
  /** Address of the core host. */
  readonly service: string
  /** Application of the webhooks, without any secret (`applicationOf`). */
  readonly application: string
  /** Path of the receiver, which distinguishes its registrations from others of the application. */
  readonly path: string
}

/** The current gap, in memory of this process. Its length is measured without the wall clock, which may be corrected meanwhile. */
export class GapTracker {
  readonly #log: Logger
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  /** Start in `Clock.monotonic`. */
  #from: number | undefined
  #refused = 0
  #hasAlarmed = false

  constructor(log: Logger, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#log = log
    this.#clock = clock
  }

  /** Start of the current gap; undefined if there is no gap. */
  get since(): Date | undefined {
    return this.#from === undefined ? undefined : this.#wallTime(this.#from)
  }

  /** Counts a refused event, and begins a gap if there is none. */
  noteRefusal(): void {
    const now = this.#clock.monotonic()
    if (this.#from === undefined) {
      this.#from = now
      this.#log.warn({}, 'webhook events are refused: they cannot be stored')
    }
    this.#refused++
    if (!this.#hasAlarmed && now - this.#from >= alarmAfterMs) {
      this.#hasAlarmed = true
      this.#log.error(
        { minutes: Math.round((now - this.#from) / 60_000), refused: this.#refused },
        'webhook events have been refused for an hour',
      )
    }
  }

  /** Ends the gap, because events can be stored again. Returns the gap; undefined if there was none. */
  end(): Gap | undefined {
    if (this.#from === undefined) return undefined
    const gap = { from: this.#wallTime(this.#from), to: new Date(this.#clock.now()), refused: this.#refused }
    this.#from = undefined
    this.#refused = 0
    this.#hasAlarmed = false
    this.#log.warn({ refused: gap.refused }, 'webhook events are stored again; a replay of the gap is needed')
    return gap
  }

  /** Continues a gap that could not be recorded, from its start. */
  reopen(gap: Gap): void {
    const from = gap.from.getTime() - this.#clock.now() + this.#clock.monotonic()
    this.#from = Math.min(from, this.#from ?? from)
    this.#refused += gap.refused
  }

  /** Converts a time of `Clock.monotonic`. */
  #wallTime(monotonic: number): Date {
    return new Date(this.#clock.now() - this.#clock.monotonic() + monotonic)
  }
}

/**
 * Looks on at every request and writes down what it sees: the ledger's entry, what the request carried, and the rules that
 * its caller broke (guarantees 6.4, 6.5). Answers nothing and changes no state.
 */
import type { Seat } from '../http/seat.ts'
import type { SandboxWorld } from '../state/world.ts'
import { claimedCaller } from '../verify/authenticate.ts'
import { carriedBy, keyValues, type KeyValue } from './carried.ts'
import type { Generations } from './generations.ts'
import type { Ledger } from './ledger.ts'
import { ProductIds } from './productIds.ts'
import { noteLimits, noteRawValues } from './requestRules.ts'
import type { Watch } from './watch.ts'

export class Observer {
  readonly #world: SandboxWorld
  readonly #ledger: Ledger
  readonly #watch: Watch
  readonly #generations: Generations
  readonly #productIds: ProductIds

  constructor(parts: { readonly world: SandboxWorld; readonly ledger: Ledger; readonly watch: Watch; readonly generations: Generations }) {
    this.#world = parts.world
    this.#ledger = parts.ledger
    this.#watch = parts.watch
    this.#generations = parts.generations
    this.#productIds = new ProductIds(parts.world)
  }

  /** Its first byte came. */
  begin({ entry }: Seat): void {
    this.#ledger.begin(entry.endpoint ?? 'unknown')
    this.#watch.begin(entry)
    if (entry.endpoint === 'oauth2.token' && this.#ledger.inFlight('oauth2.token') > 1)
      this.#ledger.violate(entry, entry.time, 'two_token_calls_at_once', 'oauth2/token is already in flight')
  }

  /** Its body is whole and parsed, and nothing of it is judged yet. */
  arrive(seat: Seat): void {
    const { entry, route } = seat
    if (route.kind === 'found') {
      seat.carried = carriedBy(route.endpoint.name, route.path, seat.json, this.#productIds.of)
      if (seat.carried.keys.length > 0 && this.#world.switch('ledger_keys') === 'on')
        entry.keys = this.#valuesOf(seat).map(({ key, value }) => ({ key, value }))
    }
    entry.items = seat.carried.items
    this.#watch.carry(entry, seat.startedAt, seat.carried)
    if (this.#watch.someoneWaits)
      this.#watch.checkWait(entry, claimedCaller(this.#world, seat.request.headers.authorization), seat.startedAt)
    this.#noteOrder(seat)
    noteLimits(seat, this.#ledger)
    noteRawValues(seat, this.#ledger)
  }

  /** The answer is out, or the connection gone. */
  finish(seat: Seat): void {
    this.#ledger.end(seat.entry.endpoint ?? 'unknown')
    this.#watch.finish(seat.entry)
    if (seat.carried.keys.length > 0) this.#generations.end(seat.entry, () => this.#valuesOf(seat), seat.carried.keys, this.#strict)
  }

  /** As if nothing had come yet. */
  clear(): void {
    this.#ledger.clear()
    this.#watch.clear()
    this.#generations.clear()
    this.#productIds.clear()
  }

  /** The test's data promise that no value comes back. */
  get #strict(): boolean {
    return this.#world.switch('values_recur') === 'never'
  }

  /** Working out the values costs a hash an entry: only where their order can matter. */
  #noteOrder(seat: Seat): void {
    const { keys } = seat.carried
    const strict = this.#strict
    if (!strict && !this.#generations.concerns(keys)) return
    const values = this.#valuesOf(seat, strict ? undefined : (own) => this.#generations.concerns(own))
    this.#generations.arrive(seat.entry, values, keys, this.#world.now(), strict)
  }

  #valuesOf({ route, json }: Seat, wanted?: (keys: readonly string[]) => boolean): readonly KeyValue[] {
    return route.kind === 'found' ? keyValues(route.endpoint.name, route.path, json, this.#productIds.of, wanted) : []
  }
}

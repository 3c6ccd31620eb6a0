/**
 * Looks on at every request and writes down what it sees: the ledger's entry, what the request carried, and the rules that
 * its caller broke (docs/sandbox.md). Answers nothing and changes no state.
 */
import type { RequestContext } from '../http/requestContext.ts'
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
  begin({ entry }: RequestContext): void {
    this.#ledger.begin(entry.endpoint ?? 'unknown')
    this.#watch.begin(entry)
    if (entry.endpoint === 'oauth2.token' && this.#ledger.inFlight('oauth2.token') > 1)
      this.#ledger.violate(entry, entry.time, 'two_token_calls_at_once', 'oauth2/token is already in flight')
  }

  /** Its body is whole and parsed, and nothing of it is classified yet. */
  arrive(requestContext: RequestContext): void {
    const { entry, route } = requestContext
    if (route.kind === 'found') {
      requestContext.carried = carriedBy(route.endpoint.name, route.path, requestContext.json, this.#productIds.of)
      if (requestContext.carried.keys.length > 0 && this.#world.switch('ledger_keys') === 'on')
        entry.keys = this.#valuesOf(requestContext).map(({ key, value }) => ({ key, value }))
    }
    entry.items = requestContext.carried.items
    this.#watch.carry(entry, requestContext.startedAt, requestContext.carried)
    if (this.#watch.someoneWaits)
      this.#watch.checkWait(entry, claimedCaller(this.#world, requestContext.request.headers.authorization), requestContext.startedAt)
    this.#noteOrder(requestContext)
    noteLimits(requestContext, this.#ledger)
    noteRawValues(requestContext, this.#ledger)
  }

  /** The answer is out, or the connection gone. */
  finish(requestContext: RequestContext): void {
    this.#ledger.end(requestContext.entry.endpoint ?? 'unknown')
    this.#watch.finish(requestContext.entry)
    if (requestContext.carried.keys.length > 0)
      this.#generations.end(requestContext.entry, () => this.#valuesOf(requestContext), requestContext.carried.keys, this.#strict)
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
  #noteOrder(requestContext: RequestContext): void {
    const { keys } = requestContext.carried
    const strict = this.#strict
    if (!strict && !this.#generations.concerns(keys)) return
    const values = this.#valuesOf(requestContext, strict ? undefined : (own) => this.#generations.concerns(own))
    this.#generations.arrive(requestContext.entry, values, keys, this.#world.now(), strict)
  }

  #valuesOf({ route, json }: RequestContext, wanted?: (keys: readonly string[]) => boolean): readonly KeyValue[] {
    return route.kind === 'found' ? keyValues(route.endpoint.name, route.path, json, this.#productIds.of, wanted) : []
  }
}

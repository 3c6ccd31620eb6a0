/** Records the content of every request, and the violations of its caller (docs/sandbox.md#violations). */
import { areaRefs } from '../areaRefs.ts'
import type { RequestContext } from '../http/requestContext.ts'
import type { SandboxWorld } from '../state/world.ts'
import { claimedCaller } from '../verify/authenticate.ts'
import { contentOf, keyValues, type KeyValue } from './requestContent.ts'
import type { ValueOrder } from './valueOrder.ts'
import type { Ledger } from './ledger.ts'
import type { TrafficRules } from './trafficRules.ts'
import { looksLikeEmail, looksLikePhone } from './rawIdentifiers.ts'

/** Applies the rules of this folder to each request. Does not change the state of the service. */
export class Observer {
  readonly #world: SandboxWorld
  readonly #ledger: Ledger
  readonly #trafficRules: TrafficRules
  readonly #valueOrder: ValueOrder
  readonly #productIds: ProductIds

  constructor(parts: {
    readonly world: SandboxWorld
    readonly ledger: Ledger
    readonly trafficRules: TrafficRules
    readonly valueOrder: ValueOrder
  }) {
    this.#world = parts.world
    this.#ledger = parts.ledger
    this.#trafficRules = parts.trafficRules
    this.#valueOrder = parts.valueOrder
    this.#productIds = new ProductIds(parts.world)
  }

  /** Checks a request whose headers are complete. */
  headersArrived({ entry, startedAt }: RequestContext): void {
    this.#trafficRules.headersArrived(entry, startedAt)
    if (entry.endpoint === 'oauth2.token' && this.#ledger.inFlight('oauth2.token') > 1)
      this.#ledger.recordViolation(entry, entry.time, 'two_token_calls_at_once', 'oauth2/token is already in flight')
  }

  /** Records and checks a request whose body is complete and parsed. */
  bodyArrived(context: RequestContext): void {
    const { entry, route } = context
    if (route.kind === 'found') {
      context.content = contentOf(route.endpoint.name, route.path, context.json, this.#productIds.of)
      if (context.content.keys.length > 0 && this.#world.switchValue('ledger_keys') === 'on')
        entry.keys = this.#valuesOf(context).map(({ key, value }) => ({ key, value }))
    }
    entry.items = context.content.items
    this.#trafficRules.bodyArrived(entry, context.startedAt, context.content)
    if (this.#trafficRules.hasWaits)
      this.#trafficRules.checkWait(entry, claimedCaller(this.#world, context.request.headers.authorization), context.startedAt)
    this.#checkOrder(context)
    checkLimits(context, this.#ledger)
    checkOperator(context, this.#ledger)
    checkRawIdentifiers(context, this.#ledger)
  }

  /** Records that the request ended: the answer was sent, or the connection ended. */
  requestEnded(context: RequestContext): void {
    this.#ledger.finish(context.entry)
    this.#trafficRules.requestEnded(context.entry)
    // A reset or restore starts a new instance and clears `#valueOrder`. A request that began in the old instance must not add its values.
    if (context.content.keys.length > 0 && context.instance === this.#world.core.instance)
      this.#valueOrder.requestEnded(context.entry, () => this.#valuesOf(context), context.content.keys, this.#valuesNeverRecur)
  }

  clearRecords(): void {
    this.#ledger.clear()
    this.#trafficRules.clear()
    this.#valueOrder.clear()
    this.#productIds.clear()
  }

  /** True if the test promises that no key gets an earlier value again (the switch `values_recur: never`). */
  get #valuesNeverRecur(): boolean {
    return this.#world.switchValue('values_recur') === 'never'
  }

  /** Checks the order of the values of each key. To save time, hashes only the entries to which a rule can apply. */
  #checkOrder(context: RequestContext): void {
    const { keys } = context.content
    const valuesNeverRecur = this.#valuesNeverRecur
    if (!valuesNeverRecur && !this.#valueOrder.tracksAny(keys)) return
    const values = this.#valuesOf(context, valuesNeverRecur ? undefined : (own) => this.#valueOrder.tracksAny(own))
    this.#valueOrder.bodyArrived(context.entry, values, keys, this.#world.now(), valuesNeverRecur)
  }

  #valuesOf({ route, json }: RequestContext, isNeeded?: (keys: readonly string[]) => boolean): readonly KeyValue[] {
    return route.kind === 'found' ? keyValues(route.endpoint.name, route.path, json, this.#productIds.of, isNeeded) : []
  }
}

/** Ids of products by product key. A PUT names products by id, and a DELETE by key. */
class ProductIds {
  readonly #world: SandboxWorld
  readonly #idByKey = new Map<string, string>()

  constructor(world: SandboxWorld) {
    this.#world = world
  }

  /** Returns the id of a product; undefined for an unknown key. Stores each id: a DELETE may be sent again after the product is deleted. */
  readonly of = (catalogId: string, productKey: string): string | undefined => {
    const name = `${catalogId} ${productKey}`
    const id = this.#world.stateOf(areaRefs.catalogs).catalogs.get(catalogId)?.idByKey.get(productKey)
    if (id !== undefined) this.#idByKey.set(name, id)
    return id ?? this.#idByKey.get(name)
  }

  clear(): void {
    this.#idByKey.clear()
  }
}

/** Checks the maximum numbers of products, operations and bytes of a request (spec 8). */
function checkLimits(context: RequestContext, ledger: Ledger): void {
  const { entry, endpoint, content, json } = context
  const recordViolation = (rule: string, detail: string): void => ledger.recordViolation(entry, entry.time, rule, detail)
  const { entries: maxEntries, bytes: maxBytes } = endpoint?.bodyLimit ?? {}
  const maxProducts = endpoint?.name === 'products.put' ? endpoint.parameters.find(({ name }) => name === 'products')?.maxItems : undefined
  if (maxProducts !== undefined && content.items > maxProducts) recordViolation(`over_${maxProducts}_products`, `${content.items} products`)
  if (maxEntries !== undefined && Array.isArray(json) && json.length > maxEntries)
    recordViolation(`over_${maxEntries}_operations`, `${json.length} operations`)
  if (maxBytes !== undefined && entry.bytes > maxBytes) recordViolation(`over_${maxBytes}_bytes`, `${entry.bytes} bytes`)
}

/** Checks that a DELETE of a catalog has the header `x-operator`. Only a person may delete a catalog. */
function checkOperator({ entry, endpoint, request }: RequestContext, ledger: Ledger): void {
  if (endpoint?.name === 'catalogs.delete' && request.headers['x-operator'] === undefined)
    ledger.recordViolation(entry, entry.time, 'catalog_delete_without_operator', 'no x-operator header names the operator')
}

/**
 * Checks path, query and headers for raw emails, except the header `authorization`. Checks query values for phone numbers, but only those
 * with a plus sign: other digits may be ids or times. The audiences area checks the bodies of uploads.
 */
function checkRawIdentifiers(context: RequestContext, ledger: Ledger): void {
  const recordRaw = (place: string, type = 'email'): void =>
    ledger.recordViolation(context.entry, context.entry.time, 'raw_identifier', `looks like an ${type} in the ${place}`)
  if (looksLikeEmail(context.rawPath)) recordRaw('path')
  if (context.query.some(([, value]) => looksLikeEmail(value) || (value.startsWith('+') && looksLikePhone(value))))
    recordRaw('query', 'email or phone')
  const { headers } = context.request
  for (const name in headers) {
    const value = headers[name]
    if (name !== 'authorization' && typeof value === 'string' && looksLikeEmail(value)) recordRaw(`header ${name}`)
  }
}

/** Requests to all three hosts of the service: routing, authentication, rates, validation, handler, answer, faults. */
import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Endpoint } from '../../service/contract/endpoint.ts'
import { answerOf, answerOfRefusal, commonHeaders, rateHeaders, type Answer } from './answer.ts'
import { authenticate, claimedCaller, Nonces, tokenRefused, type Caller } from '../verify/authenticate.ts'
import type { CatalogState } from '../catalogs/state.ts'
import type { Control } from '../control.ts'
import { refusalOf, type DispatchInput, type Engine } from '../state/engine.ts'
import type { Apply, FaultProbe, FaultRule, Faults } from '../faults/faults.ts'
import type { FaultRunner } from '../faults/faultRunner.ts'
import {
  checkContentType,
  checkSize,
  formOf,
  isJsonBody,
  MAX_BODY,
  noteLimits,
  noteRawValues,
  parseJson,
  pathOf,
  routed,
  type Seat,
} from './incoming.ts'
import type { Generations } from '../ledger/generations.ts'
import { carriedBy, keyValues, type KeyValue } from '../ledger/carried.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { Listener } from './listener.ts'
import type { Rates, RateState } from '../verify/rates.ts'
import { adsRefusal, coreRefusal, invalidParameter, Refusal, tooMany } from '../refusal.ts'
import type { Router } from './router.ts'
import { parseForm } from '../verify/signature.ts'
import type { Watch } from '../ledger/watch.ts'
import type { SandboxWorld } from '../state/world.ts'
import { isDead } from '../faults/wireFaults.ts'

export interface ServerParts {
  readonly world: SandboxWorld
  readonly engine: Engine
  readonly router: Router
  readonly ledger: Ledger
  readonly rates: Rates
  readonly faults: Faults
  readonly runner: FaultRunner
  readonly watch: Watch
  readonly generations: Generations
  readonly control: Control
}

export class SandboxServer {
  readonly #parts: ServerParts
  readonly #nonces = new Nonces()
  /** Ids of products that a DELETE named, by catalog and key. */
  readonly #productIds = new Map<string, string>()
  readonly listener: Listener

  constructor(parts: ServerParts) {
    this.#parts = parts
    this.listener = new Listener(parts.world, (request, response) => this.#receive(request, response))
  }

  forget(): void {
    this.#nonces.clear()
    this.#productIds.clear()
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const url = request.url ?? '/'
    if (isDead(request.socket)) return
    if (url.startsWith('/_sandbox')) return this.#parts.control.receive(request, response)
    const seat = this.#open(request, response, url)
    const rule = this.#parts.faults.armed ? this.#parts.faults.beforeBody(probeOf(seat)) : undefined
    if (rule !== undefined) {
      mark(seat, rule)
      this.#parts.runner.early(seat, rule, () => this.#read(seat))
      return
    }
    this.#read(seat)
  }

  #open(request: IncomingMessage, response: ServerResponse, url: string): Seat {
    const { ledger, router, watch, world } = this.#parts
    const mark = url.indexOf('?')
    const rawPath = pathOf(mark === -1 ? url : url.slice(0, mark))
    const rawQuery = mark === -1 ? '' : url.slice(mark + 1)
    const method = request.method ?? 'GET'
    const route = router.match(method, rawPath)
    const endpoint = route.kind === 'found' ? route.endpoint : undefined
    const startedAt = world.machineNow()
    const { connection, firstOfConnection } = this.listener.count(request.socket)
    const worker = request.headers['x-test-worker']
    const entry = ledger.open({
      time: new Date(startedAt).toISOString(),
      method,
      path: rawPath,
      query: rawQuery,
      endpoint: endpoint?.name ?? null,
      status: null,
      bytes: 0,
      body_sha256: '',
      items: 0,
      applied: false,
      fault: null,
      fault_id: null,
      connection,
      worker: typeof worker === 'string' ? worker : null,
      body_end_at: null,
      applied_at: null,
      answer_started_at: null,
      answer_ended_at: null,
      answer_bytes: 0,
      client_closed: false,
    })
    const seat: Seat = {
      request,
      response,
      entry,
      endpoint,
      startedAt,
      route,
      rawPath,
      rawQuery,
      query: parseForm(rawQuery),
      body: EMPTY,
      json: undefined,
      jsonError: false,
      carried: { items: 0, keys: [] },
      caller: 'nobody',
      finished: false,
      answered: false,
      firstOfConnection,
    }
    ledger.begin(endpoint?.name ?? 'unknown')
    watch.begin(entry)
    if (endpoint?.name === 'oauth2.token' && ledger.inFlight('oauth2.token') > 1)
      ledger.violate(entry, entry.time, 'two_token_calls_at_once', 'oauth2/token is already in flight')
    response.on('close', () => this.#finish(seat))
    return seat
  }

  #finish(seat: Seat): void {
    if (seat.finished) return
    seat.finished = true
    const { generations, ledger, watch, world } = this.#parts
    seat.entry.answer_ended_at = new Date(world.machineNow()).toISOString()
    if (!seat.response.writableFinished && !seat.answered) seat.entry.client_closed = true
    ledger.end(seat.endpoint?.name ?? 'unknown')
    watch.finish(seat.entry)
    if (seat.carried.keys.length > 0) generations.end(seat.entry, () => this.#valuesOf(seat), seat.carried.keys)
  }

  #read(seat: Seat): void {
    const chunks: Buffer[] = []
    let size = 0
    seat.request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MAX_BODY) chunks.push(chunk)
    })
    seat.request.on('end', () => {
      seat.body = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
      seat.entry.bytes = size
      this.#arrived(seat)
    })
    seat.request.on('error', () => seat.response.destroy())
  }

  #arrived(seat: Seat): void {
    const { entry, endpoint } = seat
    const { faults, generations, ledger, runner, watch, world } = this.#parts
    const now = world.machineNow()
    entry.body_end_at = new Date(now).toISOString()
    entry.body_sha256 = hash('sha256', seat.body)
    if (endpoint?.body === 'json' && seat.body.length > 0) parseJson(seat)
    if (seat.route.kind === 'found') {
      const { endpoint: found, path } = seat.route
      seat.carried = carriedBy(found.name, path, seat.json, this.#productIdOf)
      if (seat.carried.keys.length > 0 && world.switch('ledger_keys') === 'on')
        entry.keys = keyValues(found.name, path, seat.json, this.#productIdOf).map(({ key, value }) => ({ key, value }))
    }
    entry.items = seat.carried.items
    watch.carry(entry, seat.startedAt, seat.carried)
    if (watch.someoneWaits) watch.checkWait(entry, claimedCaller(world, seat.request.headers.authorization), seat.startedAt)
    const strict = world.switch('values_recur') === 'never'
    if (strict || generations.concerns(seat.carried.keys))
      generations.arrive(
        entry,
        this.#valuesOf(seat, strict ? undefined : (keys) => generations.concerns(keys)),
        seat.carried.keys,
        world.now(),
        strict,
      )
    noteLimits(seat, ledger)
    noteRawValues(seat, ledger)
    const rule = faults.armed ? faults.withBody({ ...probeOf(seat), body: seat.body, bodyHash: entry.body_sha256 }) : undefined
    if (rule === undefined) return this.#plain(seat)
    mark(seat, rule)
    runner
      .run(seat, rule, {
        apply: (apply) => this.#handle(seat, apply),
        // Nothing waits in a read, so the state of then is in place for all of it.
        applyAsOf: (lagMs) => world.asOf(lagMs, () => this.#handle(seat, 'all')),
        refuse: (refusal) => this.#refuse(seat, refusal, {}),
        send: (answer) => this.#send(seat, answer),
        items: seat.carried.items,
      })
      .catch((error: unknown) => this.#broken(seat, error))
  }

  #valuesOf(seat: Seat, wanted?: (keys: readonly string[]) => boolean): readonly KeyValue[] {
    return seat.route.kind === 'found' ? keyValues(seat.route.endpoint.name, seat.route.path, seat.json, this.#productIdOf, wanted) : []
  }

  /** Remembered beyond the product's own life: the DELETE that was applied and not answered comes again. */
  readonly #productIdOf = (catalogId: string, productKey: string): string | undefined => {
    const name = `${catalogId} ${productKey}`
    const id = (this.#parts.world.stateOf('catalogs') as CatalogState).catalogs.get(catalogId)?.idByKey.get(productKey)
    if (id !== undefined) this.#productIds.set(name, id)
    return id ?? this.#productIds.get(name)
  }

  /** The usual way: no promise unless the handler makes one. */
  #plain(seat: Seat): void {
    try {
      const answer = this.#handle(seat, 'all')
      if (answer instanceof Promise) answer.then((ready) => this.#send(seat, ready)).catch((error: unknown) => this.#broken(seat, error))
      else this.#send(seat, answer)
    } catch (error) {
      this.#broken(seat, error)
    }
  }

  #handle(seat: Seat, apply: Apply): Answer | Promise<Answer> {
    let headers: Record<string, string> = {}
    let echo: Record<string, unknown> = {}
    try {
      const { world, rates, engine, faults } = this.#parts
      if (seat.route.kind !== 'found') headers = rateHeaders(rates.unrouted())
      const endpoint = routed(seat)
      const path = seat.route.kind === 'found' ? seat.route.path : {}
      const form = formOf(seat)
      const looked = this.#rate(rates, endpoint, seat, undefined, false)
      headers = rateHeaders(looked)
      const caller = authenticate(world, this.#nonces, endpoint, {
        method: seat.entry.method,
        rawPath: seat.rawPath,
        rawQuery: seat.rawQuery,
        scheme: 'encrypted' in seat.request.socket ? 'https' : 'http',
        host: seat.request.headers.host ?? '',
        authorization: seat.request.headers.authorization,
        query: seat.query,
        form,
      })
      seat.caller = caller.id
      const rate = this.#rate(rates, endpoint, seat, caller, true)
      headers = rateHeaders(rate)
      if (rate.refused) throw this.#limited(seat, endpoint, rate)
      // Known from here on, whatever is wrong with the rest (gaps 4 'Ads body').
      echo = { ...path }
      checkContentType(seat, endpoint)
      checkSize(seat, endpoint, world.switch('over_limit'))
      if (seat.jsonError) throw refusalOf(endpoint, [{ ...invalidParameter('body', 'JSON', ''), details: 'invalid JSON' }])
      if (endpoint.body !== 'json' && isJsonBody(seat))
        throw refusalOf(endpoint, [
          { ...invalidParameter('body', 'no JSON body; parameters go into the query or a form', ''), details: 'unexpected body' },
        ])
      const input: DispatchInput = {
        endpoint,
        path,
        pairs: form.length === 0 ? seat.query : [...seat.query, ...form],
        query: seat.query,
        oauth: caller.oauth,
        user: caller.user,
        body: seat.json,
        rawBody: seat.body,
      }
      const checked = engine.check(input)
      echo = checked.echo
      if (checked.errors.length > 0) throw refusalOf(endpoint, checked.errors)
      this.#parts.ledger.current = seat.entry
      if (faults.armed && endpoint.method !== 'GET' && faults.longestLagMs > 0) world.remember(faults.longestLagMs)
      const done = engine.apply(input, checked, apply)
      if (done instanceof Promise)
        return done.then(
          ({ reply, echo: echoed }) => this.#applied(seat, answerOf(reply, echoed), headers),
          (error: unknown) => this.#refuseOr(seat, error, echo, headers),
        )
      return this.#applied(seat, answerOf(done.reply, done.echo), headers)
    } catch (error) {
      return this.#refuseOr(seat, error, echo, headers)
    }
  }

  #applied(seat: Seat, answer: Answer, headers: Readonly<Record<string, string>>): Answer {
    seat.entry.applied = answer.status < 400
    seat.entry.applied_at = new Date(this.#parts.world.machineNow()).toISOString()
    Object.assign(answer.headers, commonHeaders(seat.endpoint, seat.rawPath), headers)
    return answer
  }

  #refuseOr(seat: Seat, error: unknown, echo: Readonly<Record<string, unknown>>, headers: Readonly<Record<string, string>>): Answer {
    if (!(error instanceof Refusal)) throw error
    const answer = this.#refuse(seat, error, echo)
    // A refusal's own headers win: that of a 429 may hide the trio.
    answer.headers =
      error.status === 429 && this.#parts.world.switch('rate_limit_headers') !== 'reset'
        ? answer.headers
        : { ...headers, ...answer.headers }
    return answer
  }

  #refuse(seat: Seat, refusal: Refusal, echo: Readonly<Record<string, unknown>>): Answer {
    const { world } = this.#parts
    const answer = answerOfRefusal(refusal, echo, {
      integerCodes: world.switch('ads_error_codes') === 'integer',
      body: world.switch('error_body'),
    })
    Object.assign(answer.headers, commonHeaders(seat.endpoint, seat.rawPath))
    return answer
  }

  #rate(rates: Rates, endpoint: Endpoint, seat: Seat, caller: Caller | undefined, take: boolean): RateState {
    const { world } = this.#parts
    return rates.check(
      {
        endpoint,
        userId: caller?.id ?? 'nobody',
        accountId: seat.route.kind === 'found' ? seat.route.path['account_id'] : undefined,
        totalCount: seat.query.some(([name, value]) => name === 'with_total_count' && value === 'true'),
        namedOnly: world.switch('rate_limits') === 'off',
        globalReads: Number(world.switch('global_reads')),
      },
      take,
    )
  }

  #limited(seat: Seat, endpoint: Endpoint, rate: RateState): Refusal {
    const { world, watch } = this.#parts
    if (endpoint.limit === 'bearer_tokens') return tokenRefused()
    watch.toldToWait(seat.entry, seat.caller, rate.resetS * 1000)
    this.#parts.ledger.violate(seat.entry, seat.entry.time, 'over_rate_limit', `more than ${rate.limit} in the window`)
    const waitS = Math.max(1, Math.ceil(rate.resetS - world.machineNow() / 1000))
    const headers = world.switch('rate_limit_headers') === 'retry_after' ? { 'retry-after': String(waitS) } : {}
    return tooMany(endpoint.host, headers)
  }

  #send(seat: Seat, answer: Answer): void {
    const { response, entry } = seat
    if (response.destroyed || response.headersSent) return
    entry.status = answer.status
    entry.answer_started_at = new Date(this.#parts.world.machineNow()).toISOString()
    if (answer.stream !== undefined) return answer.stream(response)
    entry.answer_bytes = Buffer.byteLength(answer.body)
    if (answer.status !== 204) answer.headers['content-length'] = String(entry.answer_bytes)
    response.writeHead(answer.status, answer.headers)
    // A text goes out in one write with the head; a Buffer would be a second (1.0 of 3.4 s at 25 products a request).
    response.end(answer.body)
  }

  /** Our own mistake: said as a 500 and in the log, never swallowed. */
  #broken(seat: Seat, error: unknown): void {
    this.#parts.world.log.error(
      { path: seat.rawPath, error: error instanceof Error ? (error.stack ?? error.message) : 'unknown' },
      'the sandbox failed on a request',
    )
    const refusal =
      seat.endpoint?.host === 'core' ? coreRefusal(500, 131, 'Internal error') : adsRefusal('INTERNAL_ERROR', 'Internal error')
    this.#send(seat, this.#refuse(seat, refusal, {}))
  }
}

const EMPTY = Buffer.alloc(0)

function probeOf(seat: Seat): FaultProbe {
  return {
    method: seat.entry.method,
    path: seat.rawPath,
    query: seat.rawQuery,
    worker: seat.entry.worker ?? undefined,
    firstOfConnection: seat.firstOfConnection,
  }
}

function mark(seat: Seat, rule: FaultRule): void {
  seat.entry.fault = rule.fault.kind
  seat.entry.fault_id = rule.id
}

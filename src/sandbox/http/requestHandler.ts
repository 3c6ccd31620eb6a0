/** A request that came whole → its answer: who calls, is there quota left, is it well formed, then the area's own handler. */
import type { Endpoint } from '../../service/contract/endpoint.ts'
import type { Apply } from '../faults/faultKinds.ts'
import type { Faults } from '../faults/faults.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Watch } from '../ledger/watch.ts'
import { adsRefusal, coreRefusal, invalidParameter, Refusal, tooMany } from '../refusal.ts'
import type { DispatchInput, Engine } from '../state/engine.ts'
import type { SandboxWorld } from '../state/world.ts'
import { authenticate, Nonces, tokenRefused, type Caller } from '../verify/authenticate.ts'
import { parameterRefusal } from '../verify/parameterRefusal.ts'
import type { Rates, RateState } from '../verify/rates.ts'
import { answerOf, answerOfRefusal, commonHeaders, rateHeaders, type Answer } from '../answer.ts'
import { checkContentType, checkSize, formOf, isJsonBody, routed } from './incoming.ts'
import type { Seat } from './seat.ts'

export interface HandlerParts {
  readonly world: SandboxWorld
  readonly engine: Engine
  readonly ledger: Ledger
  readonly rates: Rates
  readonly faults: Faults
  readonly watch: Watch
}

/** What of a request a refusal repeats: as much as was known when it was thrown. */
interface Known {
  headers: Record<string, string>
  echo: Record<string, unknown>
}

export class RequestHandler {
  readonly #parts: HandlerParts
  readonly #nonces = new Nonces()

  constructor(parts: HandlerParts) {
    this.#parts = parts
  }

  /** No promise unless the area's handler makes one. Refusals come as answers; anything else that is thrown is our mistake. */
  handle(seat: Seat, apply: Apply): Answer | Promise<Answer> {
    const { engine, faults, ledger, world } = this.#parts
    const known: Known = { headers: {}, echo: {} }
    try {
      const input = this.#admit(seat, known)
      const checked = engine.check(input)
      known.echo = checked.echo
      if (checked.errors.length > 0) throw parameterRefusal(input.endpoint, checked.errors)
      ledger.current = seat.entry
      if (faults.armed && input.endpoint.method !== 'GET' && faults.longestLagMs > 0) world.remember(faults.longestLagMs)
      const done = engine.apply(input, checked, apply)
      if (done instanceof Promise)
        return done.then(
          ({ reply, echo }) => this.#applied(seat, answerOf(reply, echo), known),
          (error: unknown) => this.#refuseOr(seat, error, known),
        )
      return this.#applied(seat, answerOf(done.reply, done.echo), known)
    } catch (error) {
      return this.#refuseOr(seat, error, known)
    }
  }

  refuse(seat: Seat, refusal: Refusal, echo: Readonly<Record<string, unknown>> = {}): Answer {
    const { world } = this.#parts
    const answer = answerOfRefusal(refusal, echo, {
      integerCodes: world.switch('ads_error_codes') === 'integer',
      body: world.switch('error_body'),
    })
    Object.assign(answer.headers, commonHeaders(seat.endpoint, seat.rawPath))
    return answer
  }

  /** Our own mistake: said as a 500 and in the log, never swallowed. */
  broken(seat: Seat, error: unknown): Answer {
    this.#parts.world.log.error(
      { path: seat.rawPath, error: error instanceof Error ? (error.stack ?? error.message) : 'unknown' },
      'the sandbox failed on a request',
    )
    return this.refuse(
      seat,
      seat.endpoint?.host === 'core' ? coreRefusal(500, 131, 'Internal error') : adsRefusal('INTERNAL_ERROR', 'Internal error'),
    )
  }

  /** Lets go the nonces. */
  clear(): void {
    this.#nonces.clear()
  }

  /** Everything before the parameters, in the service's own order. @throws {Refusal} */
  #admit(seat: Seat, known: Known): DispatchInput {
    const { rates, world } = this.#parts
    if (seat.route.kind !== 'found') known.headers = rateHeaders(rates.unrouted())
    const endpoint = routed(seat)
    const path = seat.route.kind === 'found' ? seat.route.path : {}
    const form = formOf(seat)
    known.headers = rateHeaders(this.#rate(endpoint, seat, undefined, false))
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
    const rate = this.#rate(endpoint, seat, caller, true)
    known.headers = rateHeaders(rate)
    if (rate.refused) throw this.#limited(seat, endpoint, rate)
    // Known from here on, whatever is wrong with the rest (gaps 4 'Ads body').
    known.echo = { ...path }
    checkContentType(seat, endpoint)
    checkSize(seat, endpoint, world.switch('over_limit'))
    if (seat.jsonError) throw parameterRefusal(endpoint, [{ ...invalidParameter('body', 'JSON', ''), details: 'invalid JSON' }])
    if (endpoint.body !== 'json' && isJsonBody(seat))
      throw parameterRefusal(endpoint, [
        { ...invalidParameter('body', 'no JSON body; parameters go into the query or a form', ''), details: 'unexpected body' },
      ])
    return {
      endpoint,
      path,
      pairs: form.length === 0 ? seat.query : [...seat.query, ...form],
      query: seat.query,
      oauth: caller.oauth,
      user: caller.user,
      body: seat.json,
      rawBody: seat.body,
    }
  }

  #applied(seat: Seat, answer: Answer, known: Known): Answer {
    seat.entry.applied = answer.status < 400
    seat.entry.applied_at = new Date(this.#parts.world.machineNow()).toISOString()
    Object.assign(answer.headers, commonHeaders(seat.endpoint, seat.rawPath), known.headers)
    return answer
  }

  #refuseOr(seat: Seat, error: unknown, known: Known): Answer {
    if (!(error instanceof Refusal)) throw error
    const answer = this.refuse(seat, error, known.echo)
    // A refusal's own headers win: that of a 429 may hide the trio.
    answer.headers =
      error.status === 429 && this.#parts.world.switch('rate_limit_headers') !== 'reset'
        ? answer.headers
        : { ...known.headers, ...answer.headers }
    return answer
  }

  #rate(endpoint: Endpoint, seat: Seat, caller: Caller | undefined, take: boolean): RateState {
    const { rates, world } = this.#parts
    return rates.check(
      {
        endpoint,
        userId: caller?.id ?? 'nobody',
        accountId: seat.route.kind === 'found' ? seat.route.path['account_id'] : undefined,
        totalCount: seat.query.some(([name, value]) => name === 'with_total_count' && value === 'true'),
        namedOnly: world.switch('rate_limits') === 'off',
        globalReads: Number(world.switch('global_reads')),
        uploadsPer: world.switch('upload_limit_per') === 'account' ? 'account' : 'user',
      },
      take,
    )
  }

  #limited(seat: Seat, endpoint: Endpoint, rate: RateState): Refusal {
    const { ledger, watch, world } = this.#parts
    if (endpoint.limit === 'bearer_tokens') return tokenRefused()
    watch.toldToWait(seat.entry, seat.caller, rate.resetS * 1000)
    ledger.violate(seat.entry, seat.entry.time, 'over_rate_limit', `more than ${rate.limit} in the window`)
    const waitS = Math.max(1, Math.ceil(rate.resetS - world.machineNow() / 1000))
    const headers = world.switch('rate_limit_headers') === 'retry_after' ? { 'retry-after': String(waitS) } : {}
    return tooMany(endpoint.host, headers)
  }
}

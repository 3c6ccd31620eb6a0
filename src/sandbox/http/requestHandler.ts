/** Checks the caller, the rate limits and the parameters of a request, then runs the handler of the area. */
import type { Endpoint } from '../../service/contract/endpoint.ts'
import type { AppliedPart } from '../appliedPart.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { TrafficRules } from '../ledger/trafficRules.ts'
import { adsRefusal, coreRefusal, invalidParameter, oauth2Refusal, parameterRefusal, rateLimitRefusal, Refusal } from '../refusal.ts'
import type { AdmittedRequest, StateWriter } from '../state/stateWriter.ts'
import type { SandboxWorld } from '../state/world.ts'
import { DroppedRequest } from '../droppedRequest.ts'
import { authenticate, Nonces, type Caller } from '../verify/authenticate.ts'
import type { RateInput, Rates, RateState } from '../verify/rates.ts'
import { answerOf, answerOfRefusal, commonHeaders, rateHeaders, type Answer } from '../answer.ts'
import { checkContentType, checkSize, formOf, hasNonFormBody, servedEndpoint } from './incoming.ts'
import type { RequestContext } from './requestContext.ts'

export interface HandlerParts {
  readonly world: SandboxWorld
  readonly stateWriter: StateWriter
  readonly ledger: Ledger
  readonly rates: Rates
  readonly trafficRules: TrafficRules
}

/** Parts of the answer that the checks of a request determine, even if they refuse the request. */
interface AnswerParts {
  /** Headers with the state of the rate limits. */
  headers: Record<string, string>
  /** `request.params` in the answer to a refused request. */
  echo: Record<string, unknown>
}

/** Result of all checks of a request except those of its parameters. */
type Admission = { readonly answerParts: AnswerParts } & ({ readonly request: AdmittedRequest } | { readonly refusal: Refusal })

/** Handles requests whose body is complete. */
export class RequestHandler {
  readonly #parts: HandlerParts
  readonly #nonces = new Nonces()
  /** Results of `#admit`. If a fault handles a request twice, its nonce is still checked once, and rate limits count the request once. */
  readonly #admissions = new WeakMap<RequestContext, Admission>()

  #isClosed = false

  constructor(parts: HandlerParts) {
    this.#parts = parts
  }

  /**
   * Applies a part of a request. Returns the answer, also to a refused request; a promise only if the handler of the area returns one.
   *
   * @throws {DroppedRequest} if the request gets no answer
   * @throws {Error} for a mistake in the sandbox. The caller passes it to `answerInternalError`.
   */
  handle(context: RequestContext, part: AppliedPart): Answer | Promise<Answer> {
    const { stateWriter, ledger, world } = this.#parts
    if (this.#isClosed) throw new DroppedRequest('the sandbox is closed')
    if (context.instance !== world.core.instance) throw new DroppedRequest('the state was reset')
    const admission = this.#admissions.get(context) ?? this.#admitOnce(context)
    const { answerParts } = admission
    try {
      if ('refusal' in admission) throw admission.refusal
      const { request } = admission
      const checked = stateWriter.readParameters(request)
      answerParts.echo = checked.echo
      if (checked.errors.length > 0) throw parameterRefusal(request.endpoint, checked.errors)
      ledger.current = context.entry
      if (request.endpoint.method !== 'GET') world.keepPastState()
      // A fault may apply only some entries. A request without entries is applied as a whole, or gets its answer from a dry run.
      const isDryRun = request.endpoint.method !== 'GET' && context.content.items === 0 && !stateWriter.appliesWithoutEntries(part)
      const result = isDryRun ? stateWriter.dryRun(request, checked) : stateWriter.apply(request, checked, part)
      if (result instanceof Promise)
        return result.then(
          ({ reply, echo, isApplied }) => this.#completeAnswer(context, answerOf(reply, echo), answerParts, isApplied),
          (error: unknown) => this.#answerError(context, error, answerParts),
        )
      return this.#completeAnswer(context, answerOf(result.reply, result.echo), answerParts, result.isApplied)
    } catch (error) {
      return this.#answerError(context, error, answerParts)
    }
  }

  /** Converts a refusal to an answer in the form of the request's host. `echo`: `request.params` of the answer. */
  answerRefusal(context: RequestContext, refusal: Refusal, echo: Readonly<Record<string, unknown>> = {}): Answer {
    const { world } = this.#parts
    const answer = answerOfRefusal(refusal, echo, {
      codes: world.switchValue('ads_error_codes'),
      body: world.switchValue('error_body'),
    })
    Object.assign(answer.headers, commonHeaders(context.endpoint, context.rawPath))
    return answer
  }

  /** Logs an error of the sandbox itself, and returns a 500. */
  answerInternalError(context: RequestContext, error: unknown): Answer {
    this.#parts.world.log.error(
      { path: context.rawPath, error: error instanceof Error ? (error.stack ?? error.message) : 'unknown' },
      'the sandbox failed on a request',
    )
    return this.answerRefusal(
      context,
      context.endpoint?.host === 'core' ? coreRefusal(500, 131, 'Internal error') : adsRefusal('INTERNAL_ERROR', 'Internal error'),
    )
  }

  /** Drops all requests from now on, also those that a fault delays. */
  close(): void {
    this.#isClosed = true
  }

  clearNonces(): void {
    this.#nonces.clear()
  }

  #admitOnce(context: RequestContext): Admission {
    const answerParts: AnswerParts = { headers: {}, echo: {} }
    let admission: Admission
    try {
      admission = { answerParts, request: this.#admit(context, answerParts) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      admission = { answerParts, refusal: error }
    }
    this.#admissions.set(context, admission)
    return admission
  }

  /**
   * Checks the caller, the rate limits, and the type and size of the body. Counts the request against its rate limits. Sets the fields of
   * `answerParts` as soon as they are known, so that the answer to a refused request has them too.
   *
   * @throws {Refusal}
   */
  #admit(context: RequestContext, answerParts: AnswerParts): AdmittedRequest {
    const { rates, world } = this.#parts
    // For the answer if `servedEndpoint` refuses the request.
    answerParts.headers = rateHeaders(rates.unrouted())
    const endpoint = servedEndpoint(context, world.switchValue('unknown_parameters') === 'strict')
    const path = context.route.kind === 'found' ? context.route.path : {}
    const form = formOf(context)
    answerParts.headers = rateHeaders(rates.peek(this.#rateInput(endpoint, context)))
    const caller = authenticate(world, this.#nonces, endpoint, {
      method: context.entry.method,
      rawPath: context.rawPath,
      rawQuery: context.rawQuery,
      scheme: 'encrypted' in context.request.socket ? 'https' : 'http',
      host: context.request.headers.host ?? '',
      authorization: context.request.headers.authorization,
      query: context.query,
      form,
    })
    context.caller = caller.id
    const rate = rates.count(this.#rateInput(endpoint, context, caller))
    answerParts.headers = rateHeaders(rate)
    if (rate.refused) throw this.#recordOverLimit(context, endpoint, rate)
    // From here on, a refusal echoes the parameters of the path (docs/spec-notes.md#echoes-and-cursors).
    answerParts.echo = { ...path }
    checkContentType(context, endpoint)
    checkSize(context, endpoint, world.switchValue('over_limit'))
    if (context.isInvalidJson) throw parameterRefusal(endpoint, [{ ...invalidParameter('body', 'JSON', ''), details: 'invalid JSON' }])
    if (endpoint.body !== 'json' && hasNonFormBody(context))
      throw parameterRefusal(endpoint, [
        { ...invalidParameter('body', 'no body except a form; parameters go into the query or a form', ''), details: 'unexpected body' },
      ])
    const pairs = form.length === 0 ? context.query : [...context.query, ...form]
    return {
      endpoint,
      path,
      pairs: world.names.isActive ? pairs.map(([name, value]) => [world.names.toNeutral(name), value]) : pairs,
      query: context.query,
      oauth: caller.oauth,
      user: caller.user,
      body: context.json,
      rawBody: context.body,
    }
  }

  /** Adds headers to the answer of a handler. Marks the ledger entry if the request was applied. */
  #completeAnswer(context: RequestContext, answer: Answer, answerParts: AnswerParts, isApplied: boolean): Answer {
    if (isApplied && answer.status < 400) this.#markApplied(context)
    Object.assign(answer.headers, commonHeaders(context.endpoint, context.rawPath), answerParts.headers)
    return answer
  }

  #markApplied({ entry }: RequestContext): void {
    entry.applied = true
    entry.applied_at = new Date(this.#parts.world.machineNow()).toISOString()
  }

  /** Converts a refusal to an answer, and rethrows any other error. Marks the ledger entry if a part of the request was applied. */
  #answerError(context: RequestContext, error: unknown, answerParts: AnswerParts): Answer {
    if (!(error instanceof Refusal)) throw error
    if (error.isPartlyApplied) this.#markApplied(context)
    const answer = this.answerRefusal(context, error, answerParts.echo)
    // Headers of the refusal have precedence. A 429 gets the headers of its rate limit only with the switch `rate_limit_headers: reset`.
    answer.headers =
      error.status === 429 && this.#parts.world.switchValue('rate_limit_headers') !== 'reset'
        ? answer.headers
        : { ...answerParts.headers, ...answer.headers }
    return answer
  }

  /** Returns the properties of a request on which its rate limits depend. Without `caller`, the caller id is `anonymous`. */
  #rateInput(endpoint: Endpoint, context: RequestContext, caller?: Caller): RateInput {
    const { world } = this.#parts
    return {
      endpoint,
      callerId: caller?.id ?? 'anonymous',
      accountId: context.route.kind === 'found' ? context.route.path['account_id'] : undefined,
      hasTotalCount: context.query.some(([name, value]) => name === 'with_total_count' && /^(?:true|t|1)$/i.test(value)),
      specifiedLimitsOnly: world.switchValue('rate_limits') === 'off',
      globalReads: Number(world.switchValue('global_reads')),
      uploadsPer: world.switchValue('upload_limit_per') === 'account' ? 'account' : 'user',
    }
  }

  /**
   * Records the violation of a rate limit, and the wait that the headers of the answer request. Returns the refusal. Records nothing for
   * the endpoints of bearer tokens.
   */
  #recordOverLimit(context: RequestContext, endpoint: Endpoint, rate: RateState): Refusal {
    const { ledger, trafficRules, world } = this.#parts
    if (endpoint.limit === 'bearer_tokens') return oauth2Refusal()
    const choice = world.switchValue('rate_limit_headers')
    if (choice !== 'none') trafficRules.recordWait(context.entry, context.caller, rate.resetS * 1000)
    ledger.recordViolation(context.entry, context.entry.time, 'over_rate_limit', `more than ${rate.limit} in the window`)
    const waitS = Math.max(1, Math.ceil(rate.resetS - world.machineNow() / 1000))
    const headers = choice === 'retry_after' ? { 'retry-after': String(waitS) } : {}
    return rateLimitRefusal(endpoint.host, headers)
  }
}

/** Receives requests to all three hosts: reads and records them, runs faults and handlers, and sends the answers. */
import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Control } from '../control.ts'
import type { FaultProbe, FaultRule, ArmedFaults } from '../faults/armedFaults.ts'
import type { FaultRunner } from '../faults/faultRunner.ts'
import { isSilenced } from '../faults/wireFaults.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Observer } from '../ledger/observer.ts'
import type { SandboxWorld } from '../state/world.ts'
import { parseForm } from '../verify/signature.ts'
import type { Answer } from '../answer.ts'
import { MAX_BODY, parseJson, pathOf } from './incoming.ts'
import { Listener } from './listener.ts'
import type { RequestHandler } from './requestHandler.ts'
import type { Router } from './router.ts'
import type { RequestContext } from './requestContext.ts'

export interface ServerParts {
  readonly world: SandboxWorld
  readonly router: Router
  readonly ledger: Ledger
  readonly observer: Observer
  readonly faults: ArmedFaults
  readonly runner: FaultRunner
  readonly handler: RequestHandler
  readonly control: Control
}

export class SandboxServer {
  readonly #parts: ServerParts
  readonly listener: Listener

  constructor(parts: ServerParts) {
    this.#parts = parts
    this.listener = new Listener(parts.world, (request, response) => this.#receive(request, response))
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const url = request.url ?? '/'
    if (isSilenced(request.socket)) return
    if (url.startsWith('/_sandbox')) return this.#parts.control.receive(request, response)
    const requestContext = this.#open(request, response, url)
    const rule = this.#parts.faults.armed ? this.#parts.faults.beforeBody(probeOf(requestContext)) : undefined
    if (rule !== undefined) {
      noteFault(requestContext, rule)
      this.#parts.runner.runBeforeBody(requestContext, rule, () => this.#read(requestContext))
      return
    }
    this.#read(requestContext)
  }

  #open(request: IncomingMessage, response: ServerResponse, url: string): RequestContext {
    const { ledger, observer, router, world } = this.#parts
    const questionMark = url.indexOf('?')
    const rawPath = pathOf(questionMark === -1 ? url : url.slice(0, questionMark))
    const rawQuery = questionMark === -1 ? '' : url.slice(questionMark + 1)
    const method = request.method ?? 'GET'
    const route = router.match(method, rawPath)
    const endpoint = route.kind === 'found' ? route.endpoint : undefined
    const startedAt = world.machineNow()
    const { connection, firstOfConnection } = this.listener.count(request.socket)
    const worker = request.headers['x-test-worker']
    const requestContext: RequestContext = {
      request,
      response,
      entry: ledger.open({
        time: new Date(startedAt).toISOString(),
        method,
        path: rawPath,
        query: rawQuery,
        endpoint: endpoint?.name ?? null,
        connection,
        worker: typeof worker === 'string' ? worker : null,
      }),
      endpoint,
      startedAt,
      route,
      rawPath,
      rawQuery,
      query: parseForm(rawQuery),
      body: EMPTY,
      json: undefined,
      jsonError: false,
      content: { items: 0, keys: [] },
      caller: 'nobody',
      finished: false,
      answered: false,
      firstOfConnection,
    }
    observer.begin(requestContext)
    response.on('close', () => this.#finish(requestContext))
    return requestContext
  }

  #finish(requestContext: RequestContext): void {
    if (requestContext.finished) return
    requestContext.finished = true
    requestContext.entry.answer_ended_at = new Date(this.#parts.world.machineNow()).toISOString()
    if (!requestContext.response.writableFinished && !requestContext.answered) requestContext.entry.client_closed = true
    this.#parts.observer.finish(requestContext)
  }

  #read(requestContext: RequestContext): void {
    const chunks: Buffer[] = []
    let size = 0
    requestContext.request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MAX_BODY) chunks.push(chunk)
    })
    requestContext.request.on('end', () => {
      requestContext.body = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
      // This closure exists as long as the request. Without this line, memory would contain each body twice.
      chunks.length = 0
      requestContext.entry.bytes = size
      this.#arrived(requestContext)
    })
    requestContext.request.on('error', () => requestContext.response.destroy())
  }

  /** Continues when the body is complete. */
  #arrived(requestContext: RequestContext): void {
    const { entry, endpoint } = requestContext
    const { faults, handler, observer, runner, world } = this.#parts
    entry.body_end_at = new Date(world.machineNow()).toISOString()
    entry.body_sha256 = hash('sha256', requestContext.body)
    if (endpoint?.body === 'json' && requestContext.body.length > 0) parseJson(requestContext, world.names)
    observer.arrive(requestContext)
    const rule = faults.armed
      ? faults.withBody({ ...probeOf(requestContext), body: requestContext.body, bodyHash: entry.body_sha256 })
      : undefined
    if (rule === undefined) return this.#answer(requestContext)
    noteFault(requestContext, rule)
    runner
      .run(requestContext, rule, {
        apply: (apply) => handler.handle(requestContext, apply),
        // Handlers of reads are synchronous, so all of the read uses the old state.
        applyAsOf: (lagMs) => world.asOf(lagMs, () => handler.handle(requestContext, 'all')),
        refuse: (refusal) => handler.refuse(requestContext, refusal),
        send: (answer) => this.#send(requestContext, answer),
        items: requestContext.content.items,
      })
      .catch((error: unknown) => this.#send(requestContext, handler.answerInternalError(requestContext, error)))
  }

  /** Handles and answers a request without a fault. Stays synchronous unless the handler is not, because a promise costs time. */
  #answer(requestContext: RequestContext): void {
    const { handler } = this.#parts
    const fail = (error: unknown): void => this.#send(requestContext, handler.answerInternalError(requestContext, error))
    try {
      const answer = handler.handle(requestContext, 'all')
      if (answer instanceof Promise) answer.then((ready) => this.#send(requestContext, ready)).catch(fail)
      else this.#send(requestContext, answer)
    } catch (error) {
      fail(error)
    }
  }

  #send(requestContext: RequestContext, answer: Answer): void {
    const { response, entry } = requestContext
    if (response.destroyed || response.headersSent) return
    entry.status = answer.status
    entry.answer_started_at = new Date(this.#parts.world.machineNow()).toISOString()
    if (answer.stream !== undefined) return answer.stream(response)
    entry.answer_bytes = Buffer.byteLength(answer.body)
    if (answer.status !== 204) answer.headers['content-length'] = String(entry.answer_bytes)
    response.writeHead(answer.status, answer.headers)
    // Node sends a string in one write with the headers, a Buffer in a second one (1.0 of 3.4 s at 25 products a request).
    response.end(answer.body)
  }
}

const EMPTY = Buffer.alloc(0)

function probeOf(requestContext: RequestContext): FaultProbe {
  return {
    method: requestContext.entry.method,
    path: requestContext.rawPath,
    query: requestContext.rawQuery,
    worker: requestContext.entry.worker ?? undefined,
    firstOfConnection: requestContext.firstOfConnection,
  }
}

function noteFault(requestContext: RequestContext, rule: FaultRule): void {
  requestContext.entry.fault = rule.fault.kind
  requestContext.entry.fault_id = rule.id
}

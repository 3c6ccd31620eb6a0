/** Faults that act on the request or its connection, such as waits, broken connections and past states (docs/sandbox.md#faults). */
import type { Answer } from '../answer.ts'
import type { AppliedPart } from '../appliedPart.ts'
import { adsRefusals, invalidParameter, type Refusal } from '../refusal.ts'
import type { SandboxWorld } from '../state/world.ts'
import { parseForm } from '../verify/signature.ts'
import type { ArmedRule } from './armedFaults.ts'
import type { FaultContext } from './faultContext.ts'
import { lagMsOf, integerSetting, type Fault, type FaultKind, type Stage } from './faultKinds.ts'
import type { Waits } from './waits.ts'
import {
  readSlowly,
  reset,
  sendHalfThen,
  sendHttp10Answer,
  sendInterimAnswers,
  sendSlowly,
  sendThenCut,
  sendWithoutEnd,
  silence,
  type Port,
} from './wireFaults.ts'

/** Functions of the server that a fault calls for its request, and the size of the request. */
export interface FaultHooks {
  /** Handles the request and applies the given part. Returns refusals as answers. */
  readonly apply: (apply: AppliedPart) => Answer | Promise<Answer>
  /** Converts a refusal to an answer. Sends nothing. */
  readonly refuse: (refusal: Refusal) => Answer
  /** Handles a read on the state as it was at a machine time. */
  readonly applyAsOf: (time: number) => Answer | Promise<Answer>
  /** Sends the answer as usual. */
  readonly send: (answer: Answer) => void
  /** Ends the request after an error. */
  readonly fail: (error: unknown) => void
  /** Number of products, product keys or users in the request. */
  readonly items: number
}

/** Parts of the sandbox that faults use. */
export interface FaultTools {
  readonly world: SandboxWorld
  readonly waits: Waits
  readonly port: Port
  /** Ends the process like a kill. Undefined if the sandbox shares its process with other code. */
  readonly crash: (() => void) | undefined
}

/** Request that has a fault. */
export interface FaultyRequest {
  readonly context: FaultContext
  readonly rule: ArmedRule
  readonly fault: Fault
  readonly stage: Stage
  readonly tools: FaultTools
}

/**
 * Actions of a kind of fault on a request, all optional. They run in the order of the fields, but `wait` runs after `apply` if the stage is
 * after applying. Before the body is read, only one action runs: `wait`, or else `upload`, or else `end`.
 */
interface FaultAction {
  /** Starts reading the body with `readBody`. Runs only if the rule hits the request before its body is read. */
  readonly upload?: (on: FaultyRequest, readBody: () => void) => void
  /** Resolves when the request may continue. Runs before the body is read, or before or after applying, as the stage requires. */
  readonly wait?: (on: FaultyRequest) => Promise<void>
  /** Handles the request in place of the runner. Returns undefined to let the runner apply the part that the fault's `apply` sets. */
  readonly apply?: (on: FaultyRequest, hooks: FaultHooks) => Answer | Promise<Answer> | undefined
  /** Ends the request without an answer. Returns false, and does nothing, at a stage at which the request gets an answer. */
  readonly end?: (on: FaultyRequest) => boolean
  /** Acts on the connection. The answer is then sent as usual. */
  readonly accompany?: (on: FaultyRequest) => void
  /** Sends the answer, or a part of it. */
  readonly send?: (on: FaultyRequest, answer: Answer) => void | Promise<void>
}

const delay: FaultAction = { wait: ({ fault, tools }) => tools.waits.pause(delayMsOf(fault, tools.world)) }

/**
 * Breaks the connection with `cut`: before the body, in the middle of the body, before the answer, or after the answer. In the middle of
 * the answer, `sendThenCut` closes the connection instead, because a reset could make the client discard the part that was sent.
 */
const breakConnection = (cut: (context: FaultContext) => void): FaultAction => ({
  end: ({ context, stage }) => {
    if (stage === 'mid_response' || stage === 'after_response') return false
    // With `contains_key` or `attempt_of_same_body`, the rule hits once the body is read: no `data` or `end` follows.
    if (stage === 'mid_upload' && !context.request.readableEnded) {
      context.request.once('data', () => cut(context))
      context.request.once('end', () => cut(context))
    } else cut(context)
    return true
  },
  send: ({ context, stage }, answer) => {
    if (stage === 'mid_response') return sendThenCut(context, answer, Math.floor(Buffer.byteLength(answer.body) / 2))
    context.response.once('finish', () => cut(context))
    context.recordAnswer(answer.status, Buffer.byteLength(answer.body))
    context.response.writeHead(answer.status, answer.headers)
    context.response.end(answer.body)
  },
})

const resetConnection = breakConnection(({ request }) => reset(request.socket))

/** Resets the connection of the request. For `ms` (default: 1,000), also refuses or closes new connections, as `state` names. */
const breakPort = (state: keyof Port): FaultAction => ({
  end: ({ context, fault, tools }) => {
    tools.port[state](integerSetting(fault, 'ms', 1000))
    reset(context.request.socket)
    return true
  },
})

const sendAtRate: FaultAction = {
  send: ({ context, fault, tools }, answer) =>
    sendSlowly(context, answer, integerSetting(fault, 'bytes_per_s', 100), (ms) => tools.waits.pause(ms)),
}

const ACTIONS = {
  delay,
  latency: delay,
  hold: { wait: ({ context, rule, stage, tools }) => tools.waits.hold(rule, context.entry, stage) },
  slow_upload: {
    upload: ({ context, fault, tools }, readBody) => {
      readBody()
      readSlowly(context.request, integerSetting(fault, 'bytes_per_s', 65_536), (ms) => tools.waits.pause(ms))
    },
  },
  clock_skew: { apply: applyBySkewedClock },
  stale: {
    apply: ({ context, rule, fault, tools }, hooks) =>
      context.entry.method === 'GET' ? hooks.applyAsOf(Math.max(tools.world.machineNow() - lagMsOf(fault), rule.armedAt)) : undefined,
  },
  cursor_expired: {
    apply: ({ context }, hooks) => {
      const cursor = cursorOf(context)
      return cursor === undefined
        ? undefined
        : hooks.refuse(adsRefusals([invalidParameter('cursor', 'a cursor of an earlier answer', cursor)]))
    },
  },
  reset: resetConnection,
  commit_then_reset: resetConnection,
  close: breakConnection(({ request }) => request.socket.destroySoon()),
  refuse: breakPort('refuse'),
  accept_close: breakPort('acceptAndClose'),
  stall: { end: () => true },
  crash: {
    end: ({ stage, tools }) => {
      if (stage === 'mid_response') return false
      tools.crash?.()
      return true
    },
    send: ({ context, tools }, answer) => sendHalfThen(context, answer, () => tools.crash?.()),
  },
  half_open: {
    end: ({ context, stage }) => {
      if (stage === 'after_response') return false
      silence(context.request.socket)
      return true
    },
    accompany: ({ context }) => context.response.once('finish', () => silence(context.request.socket)),
  },
  idle_close: {
    accompany: ({ context, fault, tools }) =>
      context.response.once(
        'finish',
        () => void tools.waits.pause(delayMsOf(fault, tools.world, 0)).then(() => context.request.socket.destroySoon()),
      ),
  },
  interim: { accompany: ({ context, fault }) => sendInterimAnswers(context, fault) },
  http10: { send: ({ context }, answer) => sendHttp10Answer(context, answer) },
  truncate: {
    send: ({ context, fault }, answer) =>
      sendThenCut(context, answer, integerSetting(fault, 'bytes', Math.floor(Buffer.byteLength(answer.body) / 2))),
  },
  slow: sendAtRate,
  drip: sendAtRate,
  wrong_length: {
    send: ({ context, fault }, answer) => {
      const bytes = Buffer.byteLength(answer.body)
      sendThenCut(context, answer, bytes, bytes + integerSetting(fault, 'by', 10))
    },
  },
  no_chunk_end: { send: ({ context }, answer) => sendWithoutEnd(context, answer) },
} satisfies Partial<Record<FaultKind, FaultAction>>

/** Kinds that this module implements. */
export type ActingKind = keyof typeof ACTIONS

/** Returns the actions of a kind; none for a kind that another module implements. */
export function actionsOf(kind: FaultKind): FaultAction {
  return isActing(kind) ? ACTIONS[kind] : {}
}

function isActing(kind: FaultKind): kind is ActingKind {
  return Object.hasOwn(ACTIONS, kind)
}

/** Returns the `cursor` of the request's query; undefined without a cursor. */
export function cursorOf(context: FaultContext): string | undefined {
  return parseForm(context.entry.query).find(([name]) => name === 'cursor')?.[1]
}

/** Returns the wait of a fault: `ms`, plus a random part of `jitter`, in milliseconds. */
function delayMsOf(fault: Fault, world: SandboxWorld, defaultMs = 1000): number {
  return integerSetting(fault, 'ms', defaultMs) + Math.floor(world.random() * integerSetting(fault, 'jitter', 0))
}

/** Handles the request by a clock that is `s` seconds ahead: for the check of the caller's timestamp, and for the `Date` header. */
async function applyBySkewedClock({ fault, tools: { world } }: FaultyRequest, hooks: FaultHooks): Promise<Answer> {
  const skewMs = integerSetting(fault, 's', 3600) * 1000
  let applied: Answer | Promise<Answer>
  world.skewMs = skewMs
  // Authentication ends before `apply` returns, so the skew can end before the handler does.
  try {
    applied = hooks.apply('all')
  } finally {
    world.skewMs = 0
  }
  const answer = await applied
  answer.headers['date'] = new Date(world.machineNow() + skewMs).toUTCString()
  return answer
}

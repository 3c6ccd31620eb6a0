/** Implements the faults that wait, break the connection, choose the state, or send the answer in another way (docs/sandbox.md#faults). */
import type { Answer } from '../answer.ts'
import type { AppliedPart } from '../appliedPart.ts'
import { adsRefusals, invalidParameter, type Refusal } from '../refusal.ts'
import type { SandboxWorld } from '../state/world.ts'
import { parsePairs } from '../verify/signature.ts'
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
  sendThen,
  sendPartThenClose,
  sendWithoutEnd,
  ignoreLaterRequests,
  type PortFaults,
} from './wireFaults.ts'

/** Functions of the server that a fault calls for its request, and the number of entries in the request. */
export interface FaultHooks {
  /** Handles the request, and applies the given part of it. Returns refusals as answers. */
  readonly apply: (part: AppliedPart) => Answer | Promise<Answer>
  /** Converts a refusal to an answer. Sends nothing. */
  readonly answerRefusal: (refusal: Refusal) => Answer
  /** Handles a read with the state as it was at `time`, a machine time. */
  readonly applyAsOf: (time: number) => Answer | Promise<Answer>
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
  readonly portFaults: PortFaults
  /** Ends the process like a kill. Undefined if the sandbox has no process of its own. */
  readonly crash: (() => void) | undefined
}

export interface HitRequest {
  readonly context: FaultContext
  readonly rule: ArmedRule
  readonly fault: Fault
  readonly stage: Stage
  readonly tools: FaultTools
}

/**
 * Actions of a kind of fault, all optional.
 * - If the rule hits before the body is read, only one action runs: `wait`, else `upload`, else `end`.
 * - If the rule hits later, all actions except `upload` run in the order of the fields. At every stage after applying, `wait` runs between
 *   `apply` and `end`.
 */
interface FaultActions {
  /** Calls `readBody` to start reading the body, and limits the speed. */
  readonly upload?: (on: HitRequest, readBody: () => void) => void
  /** Resolves when the request may continue. */
  readonly wait?: (on: HitRequest) => Promise<void>
  /** Handles the request. If it returns undefined, the runner handles the request, and applies the part that `stageAndPartOf` returns. */
  readonly apply?: (on: HitRequest, hooks: FaultHooks) => Answer | Promise<Answer> | undefined
  /** Ends the request without an answer. At a stage at which the request gets an answer, does nothing and returns false. */
  readonly end?: (on: HitRequest) => boolean
  /** Runs before the answer is sent as usual: sends interim answers, or prepares what happens to the connection after the answer. */
  readonly beforeSend?: (on: HitRequest) => void
  readonly send?: (on: HitRequest, answer: Answer) => void | Promise<void>
}

const delay: FaultActions = { wait: ({ fault, tools }) => tools.waits.pause(delayMsOf(fault, tools.world)) }

/**
 * Returns the actions that break the connection with `disconnect` at the stage of the fault. Exception: at `mid_response`,
 * `sendPartThenClose` closes the connection.
 */
const breakConnection = (disconnect: (context: FaultContext) => void): FaultActions => ({
  end: ({ context, stage }) => {
    if (stage === 'mid_response' || stage === 'after_response') return false
    // A rule with `contains_key` or `attempt_of_same_body` hits after the body is read. Then no `data` or `end` follows, so disconnect now.
    if (stage === 'mid_upload' && !context.request.readableEnded) {
      context.request.once('data', () => disconnect(context))
      context.request.once('end', () => disconnect(context))
    } else disconnect(context)
    return true
  },
  send: ({ context, stage }, answer) => {
    if (stage === 'mid_response') return sendPartThenClose(context, answer, Math.floor(Buffer.byteLength(answer.body) / 2))
    sendThen(context, answer, () => disconnect(context))
  },
})

const resetConnection = breakConnection(({ request }) => reset(request.socket))

/** Returns the action that sets the port to `state` for `ms` (default: 1,000), and resets the connection of the request. */
const breakPort = (state: keyof PortFaults): FaultActions => ({
  end: ({ context, fault, tools }) => {
    tools.portFaults[state](integerSetting(fault, 'ms', 1000))
    reset(context.request.socket)
    return true
  },
})

const sendAtRate: FaultActions = {
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
        : hooks.answerRefusal(adsRefusals([invalidParameter('cursor', 'a cursor of an earlier answer', cursor)]))
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
      if (stage === 'mid_response' || stage === 'after_response') return false
      tools.crash?.()
      return true
    },
    send: ({ context, stage, tools }, answer) => {
      const send = stage === 'mid_response' ? sendHalfThen : sendThen
      send(context, answer, () => tools.crash?.())
    },
  },
  half_open: {
    end: ({ context, stage }) => {
      if (stage === 'after_response') return false
      ignoreLaterRequests(context.request.socket)
      return true
    },
    beforeSend: ({ context }) => context.response.once('finish', () => ignoreLaterRequests(context.request.socket)),
  },
  idle_close: {
    beforeSend: ({ context, fault, tools }) =>
      context.response.once(
        'finish',
        () => void tools.waits.pause(delayMsOf(fault, tools.world, 0)).then(() => context.request.socket.destroySoon()),
      ),
  },
  interim: { beforeSend: ({ context, fault }) => sendInterimAnswers(context, fault) },
  http10: { send: ({ context }, answer) => sendHttp10Answer(context, answer) },
  truncate: {
    send: ({ context, fault }, answer) =>
      sendPartThenClose(context, answer, integerSetting(fault, 'bytes', Math.floor(Buffer.byteLength(answer.body) / 2))),
  },
  slow: sendAtRate,
  drip: sendAtRate,
  wrong_length: {
    send: ({ context, fault }, answer) => {
      const bytes = Buffer.byteLength(answer.body)
      sendPartThenClose(context, answer, bytes, bytes + integerSetting(fault, 'by', 10))
    },
  },
  no_chunk_end: { send: ({ context }, answer) => sendWithoutEnd(context, answer) },
} satisfies Partial<Record<FaultKind, FaultActions>>

/** Kind that this module implements. */
export type ActingKind = keyof typeof ACTIONS

/** Returns the actions of a kind; none for a kind that another module implements. */
export function actionsOf(kind: FaultKind): FaultActions {
  const actions: Partial<Record<FaultKind, FaultActions>> = ACTIONS
  return actions[kind] ?? {}
}

/** Returns the `cursor` of the request's query; undefined without a cursor. */
export function cursorOf(context: FaultContext): string | undefined {
  return parsePairs(context.entry.query).find(([name]) => name === 'cursor')?.[1]
}

/** Returns the milliseconds that a fault waits: `ms` plus a random part of `jitter`. */
function delayMsOf(fault: Fault, world: SandboxWorld, defaultMs = 1000): number {
  return integerSetting(fault, 'ms', defaultMs) + Math.floor(world.random() * integerSetting(fault, 'jitter', 0))
}

/** Handles the request with a service clock that is `s` seconds ahead. Affects only the check of the caller's timestamp, and `Date`. */
async function applyBySkewedClock({ fault, tools: { world } }: HitRequest, hooks: FaultHooks): Promise<Answer> {
  const skewMs = integerSetting(fault, 's', 3600) * 1000
  let applied: Answer | Promise<Answer>
  world.skewMs = skewMs
  // `apply` checks the timestamp before it returns. The rest of the request does not need the skew.
  try {
    applied = hooks.apply('all')
  } finally {
    world.skewMs = 0
  }
  const answer = await applied
  answer.headers['date'] = new Date(world.machineNow() + skewMs).toUTCString()
  return answer
}

/** Body of `POST /_sandbox/faults`: the requests that a rule hits, how often, and the fault. Checked before anything is armed. */
import { FAULT_KINDS, stageOfAt, STAGES, type Apply, type Fault } from './faultKinds.ts'

export interface FaultMatch {
  readonly method?: string
  /** A prefix of the path, or a regular expression found in it. */
  readonly path?: string
  /** Begins with the nth matching request, counted from arming. */
  readonly nth?: number
  /** Hits each nth one. */
  readonly every?: number
  readonly probability?: number
  /** Text that the path, query or body holds: a product id, a digest. */
  readonly contains_key?: string
  /** Value of the header `x-test-worker`. */
  readonly worker?: string
  /** Milliseconds after arming. */
  readonly after_ms?: number
  /** Hits the nth sending of one and the same body. */
  readonly attempt_of_same_body?: number
  /** Hits only the first request of each connection. */
  readonly first_of_connection?: boolean
}

/** A rule as it was asked for. */
export interface RuleInput {
  readonly match: FaultMatch
  /** Undefined: for ever. */
  readonly times: number | undefined
  readonly fault: Fault
}

/** The rule is not one; the control API answers 400 with the message. */
export class FaultError extends Error {}

/** `times` is 1 when absent; `always`, null, -1 and 0 are for ever. @throws {FaultError} */
export function readRule(input: unknown): RuleInput {
  const { match = {}, times = 1, fault } = asObject(input, 'a fault rule') as { match?: unknown; times?: unknown; fault?: unknown }
  const checked = checkFault(fault)
  return {
    match: checkMatch(match),
    times: times === null || times === 'always' || times === -1 || times === 0 ? undefined : checkWhole(times, 'times'),
    fault: checked,
  }
}

function checkFault(input: unknown): Fault {
  const fault = asObject(input, '"fault"') as Fault
  if (typeof fault.kind !== 'string' || !FAULT_KINDS.includes(fault.kind))
    throw new FaultError(`fault.kind is one of: ${FAULT_KINDS.join(', ')}`)
  if (fault.stage !== undefined && !STAGES.includes(fault.stage)) throw new FaultError(`fault.stage is one of: ${STAGES.join(', ')}`)
  if (fault['at'] !== undefined && stageOfAt(fault['at']) === undefined) throw new FaultError('fault.at is before, during or after')
  return fault.apply === undefined ? fault : { ...fault, apply: checkApply(fault.apply) }
}

function checkApply(apply: unknown): Apply {
  if (Array.isArray(apply)) return { only: apply.map(String) }
  if (typeof apply === 'object' && apply !== null && 'only' in apply && Array.isArray(apply.only)) return { only: apply.only.map(String) }
  const text = String(apply)
  const only = /^only:\[?(.*?)\]?$/.exec(text)
  if (only !== null) return { only: (only[1] ?? '').split(',').map((id) => id.trim().replaceAll('"', '')) }
  if (text === 'first_half') return 'half'
  if (['none', 'all', 'twice', 'half'].includes(text) || /^(first|later):\d+$/.test(text)) return text as Apply
  throw new FaultError('fault.apply is none, all, half, twice, first:N, later:MS or only:[ids]')
}

function checkMatch(input: unknown): FaultMatch {
  const match = asObject(input, '"match"')
  const known = [
    'method',
    'path',
    'nth',
    'every',
    'probability',
    'contains_key',
    'worker',
    'after_ms',
    'attempt_of_same_body',
    'first_of_connection',
  ]
  const unknown = Object.keys(match).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new FaultError(`match.${unknown} is unknown; there are: ${known.join(', ')}`)
  return match as FaultMatch
}

function checkWhole(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1)
    throw new FaultError(`${name} is a whole number from 1, or "always"`)
  return value
}

function asObject(input: unknown, what: string): Record<string, unknown> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) throw new FaultError(`${what} is an object`)
  return input as Record<string, unknown>
}

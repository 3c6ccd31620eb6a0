/** Reads and checks the body of `POST /_sandbox/faults`: which requests a rule hits, how often, and the fault. */
import { checkFields, ControlError, fieldsOf, objectOf } from '../controlError.ts'
import { FAULT_KINDS, INTEGER_SETTINGS, isFaultKind, settingsOf, stageOfAt, STAGES, type AppliedPart, type Fault } from './faultKinds.ts'

/** Conditions for the requests that a rule hits. Absent conditions do not restrict them. */
export interface FaultMatch {
  /** Method, in any case. */
  readonly method?: string
  /** Prefix of the path, or a regular expression that matches a part of it. */
  readonly path?: string
  /** Number of the first matching request that is hit, counted from 1 since arming. */
  readonly nth?: number
  /** Hits only matching requests whose number, counted from 1 since arming, is a multiple of this number. */
  readonly every?: number
  /** Probability, from 0 to 1, of a hit. */
  readonly probability?: number
  /** Text that the path, query or body must contain, such as a product id or a digest. */
  readonly contains_key?: string
  /** Value of the header `x-test-worker`. */
  readonly worker?: string
  /** Time after arming, in milliseconds, during which no request is hit. */
  readonly after_ms?: number
  /** Hits the request with this number among those with the same method, path and non-empty body, counted while any fault is armed. */
  readonly attempt_of_same_body?: number
  /** Hits only the first request of each connection. */
  readonly first_of_connection?: boolean
}

/** Checked rule that is not armed yet. */
export interface FaultRule {
  readonly match: FaultMatch
  /** Number of requests to hit; undefined for no limit. */
  readonly times: number | undefined
  readonly fault: Fault
}

/** Fields of an armed rule (`ArmedRule` in armedFaults.ts) that are ignored, so that an entry of `GET /_sandbox/faults` can be armed again. */
const ignoredFields = ['id', 'armedAt', 'matched', 'fired']

/** Reads a rule. `times` is 1 by default; `always`, null, 0 and -1 mean no limit. @throws {ControlError} */
export function readRule(input: unknown): FaultRule {
  const { match = {}, times = 1, fault } = fieldsOf(input, ['match', 'times', 'fault', ...ignoredFields])
  const checked = checkFault(fault)
  return {
    match: checkMatch(match),
    times: [null, 'always', 0, -1].some((unlimited) => unlimited === times) ? undefined : checkTimes(times),
    fault: checked,
  }
}

function checkFault(input: unknown): Fault {
  const given = withoutNulls(objectOf(input, 'fault'), NULL_COUNTS)
  const { kind, stage: givenStage, apply, ...settings } = given
  if (!isFaultKind(kind)) throw new ControlError(`fault.kind is one of: ${FAULT_KINDS.join(', ')}`)
  checkFields(given, settingsOf(kind), 'fault.')
  for (const name of INTEGER_SETTINGS)
    if (settings[name] !== undefined && !Number.isInteger(settings[name])) throw new ControlError(`fault.${name} is a whole number`)
  const stage = STAGES.find((one) => one === givenStage)
  if (givenStage !== undefined && stage === undefined) throw new ControlError(`fault.stage is one of: ${STAGES.join(', ')}`)
  if (settings['at'] !== undefined && stageOfAt(settings['at']) === undefined) throw new ControlError('fault.at is before, during or after')
  const speed = settings['bytes_per_s']
  if (speed !== undefined && !fromOne.isValid(speed)) throw new ControlError(`fault.bytes_per_s is ${fromOne.expected}`)
  return { kind, ...(stage === undefined ? {} : { stage }), ...(apply === undefined ? {} : { apply: checkApply(apply) }), ...settings }
}

/** Reads the applied part in any of its spellings: text, `only:[ids]`, `{ only: [ids] }`, or a list of ids. @throws {ControlError} */
function checkApply(apply: unknown): AppliedPart {
  if (Array.isArray(apply)) return { only: apply.map(String) }
  if (typeof apply === 'object' && apply !== null && 'only' in apply && Array.isArray(apply.only)) return { only: apply.only.map(String) }
  const text = String(apply)
  const only = /^only:\[?(.*?)\]?$/.exec(text)
  if (only !== null) return { only: (only[1] ?? '').split(',').map((id) => id.trim().replaceAll('"', '')) }
  if (text === 'none' || text === 'all' || text === 'twice' || text === 'half') return text
  if (text === 'first_half') return 'half'
  const [, name, digits] = /^(first|later):(\d+)$/.exec(text) ?? []
  if (name === 'first' || name === 'later') return `${name}:${Number(digits)}`
  throw new ControlError('fault.apply is none, all, half, twice, first:N, later:MS or only:[ids]')
}

function checkMatch(input: unknown): FaultMatch {
  const given = withoutNulls(objectOf(input, 'match'))
  checkFields(given, Object.keys(MATCHES), 'match.')
  for (const [name, { expected, isValid }] of Object.entries(MATCHES))
    if (name in given && !isValid(given[name])) throw new ControlError(`match.${name} is ${expected}`)
  // MATCHES has checked each value.
  return given as FaultMatch
}

interface MatchCheck {
  readonly expected: string
  readonly isValid: (value: unknown) => boolean
}

const aText: MatchCheck = { expected: 'a text', isValid: (value) => typeof value === 'string' }
const fromOne: MatchCheck = { expected: 'a whole number from 1', isValid: (value) => Number.isInteger(value) && Number(value) >= 1 }
const numberIn = (least: number, most: number, expected: string): MatchCheck => ({
  expected,
  isValid: (value) => typeof value === 'number' && value >= least && value <= most,
})

const MATCHES: Readonly<Record<string, MatchCheck>> = {
  method: aText,
  path: aText,
  nth: fromOne,
  every: fromOne,
  probability: numberIn(0, 1, 'a number from 0 to 1'),
  contains_key: aText,
  worker: aText,
  after_ms: numberIn(0, Infinity, 'a number from 0'),
  attempt_of_same_body: fromOne,
  first_of_connection: { expected: 'true or false', isValid: (value) => typeof value === 'boolean' },
} satisfies Record<keyof FaultMatch, MatchCheck>

/** Settings of `counts` that put a null into the answer. */
const NULL_COUNTS = ['success', 'total']

/** Removes the fields that are null, which count as absent, except those of `kept`. */
function withoutNulls(input: Readonly<Record<string, unknown>>, kept: readonly string[] = []): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(input).filter(([name, value]) => value !== null || kept.includes(name)))
}

function checkTimes(times: unknown): number {
  if (!fromOne.isValid(times)) throw new ControlError(`times is ${fromOne.expected}, or "always"`)
  return Number(times)
}

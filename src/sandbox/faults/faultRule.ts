/** Reads and checks the body of `POST /_sandbox/faults`: the conditions, the number of hits and the fault of a rule. */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { isPlainRecord } from '../../unknownValue.ts'
import { checkFields, ControlError, readFields, requireObject } from '../controlError.ts'
import type { AppliedPart } from '../appliedPart.ts'
import { COUNT_SHAPES } from './corruptedCounts.ts'
import {
  FAULT_KINDS,
  isFaultKind,
  settingsOf,
  stageOfAtSetting,
  STAGES,
  type Fault,
  type FaultKind,
  type IntegerSetting,
} from './faultKinds.ts'
import { textOf } from '../text.ts'

/** Conditions that a request must satisfy so that a rule hits it. An absent condition is always satisfied. */
export interface FaultMatch {
  /** Method, in any case. */
  readonly method?: string
  /** Prefix of the path, or a regular expression for the path. */
  readonly path?: string
  /** Skips the first `nth - 1` matching requests since arming. */
  readonly nth?: number
  /** Hits only every N-th matching request since arming. */
  readonly every?: number
  readonly probability?: number
  /** Text that the path, query or body must contain, such as a product id or a digest. */
  readonly contains_key?: string
  /** Value of the header `x-test-worker`. */
  readonly worker?: string
  /** Hits no request in this number of milliseconds after arming. */
  readonly after_ms?: number
  /**
   * Hits only the attempt with this number. Attempts are requests with the same method, path and body, counted from 1 while any fault is
   * armed. Never hits a request without a body.
   */
  readonly attempt_of_same_body?: number
  /** Hits only the first request of each connection. */
  readonly first_of_connection?: boolean
}

/** Checked rule that can be armed. */
export interface FaultRule {
  readonly match: FaultMatch
  /** Number of requests to hit; null for no limit. */
  readonly times: number | null
  readonly fault: Fault
}

/** Fields of an armed rule that are ignored, so that a fault from `GET /_sandbox/faults` can be armed again. */
const IGNORED_FIELDS = ['id', 'armedAt', 'matched', 'fired']

/** Reads a rule. `times` is 1 by default; `always`, null, 0 and -1 mean no limit. @throws {ControlError} */
export function readRule(input: unknown): FaultRule {
  const { match = {}, times = 1, fault } = readFields(input, ['match', 'times', 'fault'], IGNORED_FIELDS)
  return {
    match: readMatch(match),
    times: readTimes(times),
    fault: readFault(fault),
  }
}

function readFault(input: unknown): Fault {
  const fields = requireObject(input, 'fault')
  const { kind } = fields
  if (!isFaultKind(kind)) throw new ControlError(`fault.kind must be one of: ${FAULT_KINDS.join(', ')}`)
  checkFields(fields, settingsOf(kind), 'fault.')
  const { kind: _, stage: givenStage, apply, ...settings } = withoutNulls(fields, NULL_SETTINGS[kind])
  checkValues(settings, { ...SETTING_CHECKS, ...CHECKS_OF_KINDS[kind] }, 'fault.')
  const stage = STAGES.find((one) => one === givenStage)
  if (givenStage !== undefined && stage === undefined) throw new ControlError(`fault.stage must be one of: ${STAGES.join(', ')}`)
  if (settings['at'] !== undefined && stageOfAtSetting(settings['at']) === undefined)
    throw new ControlError('fault.at must be before, during or after')
  return { kind, ...(stage === undefined ? {} : { stage }), ...(apply === undefined ? {} : { apply: readApply(apply) }), ...settings }
}

/**
 * Reads `apply`: a text such as `half` or `first:3`, or the ids of the entries to apply. Ids may be written as `{ only: [ids] }`, as a
 * list, or as a text such as `only:[a,b]`.
 *
 * @throws {ControlError}
 */
function readApply(apply: unknown): AppliedPart {
  if (Array.isArray(apply)) return onlyIdsPart(apply)
  if (typeof apply === 'object' && apply !== null && 'only' in apply && Array.isArray(apply.only)) return onlyIdsPart(apply.only)
  const text = textOf(apply)
  const only = /^only:\[?(.*?)\]?$/.exec(text)
  if (only !== null) return onlyIdsPart((only[1] ?? '').split(',').map((id) => id.trim().replaceAll('"', '')))
  if (text === 'none' || text === 'all' || text === 'twice' || text === 'half') return text
  if (text === 'first_half') return 'half'
  const [, name, digits] = /^(first|later):(\d+)$/.exec(text) ?? []
  if (name === 'first' || name === 'later') return `${name}:${Number(digits)}`
  throw new ControlError(APPLY_ERROR)
}

const APPLY_ERROR =
  'fault.apply must be none, all, half, first_half, twice, first:N, later:MS, only:[ids], { "only": [ids] } or a list of ids'

function onlyIdsPart(ids: readonly unknown[]): AppliedPart {
  if (!ids.every(isId)) throw new ControlError(APPLY_ERROR)
  return { only: ids.map(String).filter((id) => id !== '') }
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

function readMatch(input: unknown): FaultMatch {
  const given = withoutNulls(requireObject(input, 'match'))
  checkFields(given, Object.keys(MATCH_CHECKS), 'match.')
  checkValues(given, MATCH_CHECKS, 'match.')
  // MATCH_CHECKS has checked each value.
  return given as FaultMatch
}

/** Checks the values of the given fields. @throws {ControlError} for the first value that is not valid */
function checkValues(given: Readonly<Record<string, unknown>>, checks: Readonly<Record<string, ValueCheck>>, prefix: string): void {
  for (const [name, { expected, isValid }] of Object.entries(checks))
    if (given[name] !== undefined && !isValid(given[name])) throw new ControlError(`${prefix}${name} must be ${expected}`)
}

interface ValueCheck {
  readonly expected: string
  readonly isValid: (value: unknown) => boolean
}

const aText: ValueCheck = { expected: 'a text', isValid: (value) => typeof value === 'string' }
/** Other texts would match no request, so the fault would never fire. */
const aPath: ValueCheck = {
  expected: 'the beginning of a path (/…) or a regular expression',
  isValid: (value) => typeof value === 'string' && (value.startsWith('/') || isPattern(value)),
}
const isPattern = (text: string): boolean => {
  try {
    new RegExp(text)
    return true
  } catch {
    return false
  }
}
const aBoolean: ValueCheck = { expected: 'true or false', isValid: (value) => typeof value === 'boolean' }
const numberIn = (min: number, max: number, expected: string): ValueCheck => ({
  expected,
  isValid: (value) => typeof value === 'number' && value >= min && value <= max,
})
const integerFrom = (min: number, max = Number.MAX_SAFE_INTEGER): ValueCheck => ({
  expected: `a whole number ${max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`}`,
  isValid: (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
})
const listOfAll = (expected: string, isValid: ValueCheck['isValid']): ValueCheck => ({
  expected,
  isValid: (value) => Array.isArray(value) && value.every(isValid),
})
/** Returns the value of a number, or of a text of digits; NaN for anything else. */
const numberOf = (value: unknown): number =>
  typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value)) ? Number(value) : Number.NaN
/** Returns true if Node can send the header. */
const isHeader = (name: string, value: unknown): boolean => {
  if (!['string', 'number', 'boolean'].includes(typeof value)) return false
  try {
    validateHeaderName(name)
    validateHeaderValue(name, textOf(value))
    return true
  } catch {
    return false
  }
}
const aHeaderValue: ValueCheck = { expected: 'a valid value of a header', isValid: (value) => isHeader('x', value) }
const anInteger: ValueCheck = { expected: 'a whole number', isValid: (value) => Number.isSafeInteger(value) }
const fromOne = integerFrom(1)
const fromZero = integerFrom(0)
/** Maximum of an index, an offset and a length of `operation_errors`: far above the 2,500 operations that a request may have. */
const MAX_OPERATIONS = 100_000
/** Maximum length of a text in an answer. V8 limits a string to 2^29 - 24 characters. */
const MAX_CHARACTERS = 500_000_000

const MATCH_CHECKS: Readonly<Record<string, ValueCheck>> = {
  method: aText,
  path: aPath,
  nth: fromOne,
  every: fromOne,
  probability: numberIn(0, 1, 'a number from 0 to 1'),
  contains_key: aText,
  worker: aText,
  after_ms: numberIn(0, Infinity, 'a number from 0'),
  attempt_of_same_body: fromOne,
  first_of_connection: aBoolean,
} satisfies Record<keyof FaultMatch, ValueCheck>

/** Checks of settings. `readFault` checks `stage`, `apply` and `at`. All other settings, such as `body`, may have any value. */
const SETTING_CHECKS: Readonly<Record<string, ValueCheck>> = {
  status: integerFrom(200, 999),
  ms: fromZero,
  jitter: fromZero,
  s: anInteger,
  lag_ms: fromZero,
  bytes: fromZero,
  by: anInteger,
  offset: integerFrom(-MAX_OPERATIONS, MAX_OPERATIONS),
  length: integerFrom(0, MAX_OPERATIONS),
  // Each level of `deep` has two characters.
  depth: integerFrom(0, MAX_CHARACTERS / 2),
  bytes_per_s: fromOne,
  indices: listOfAll(`a list of whole numbers from 0 to ${MAX_OPERATIONS}`, (value) => {
    const index = numberOf(value)
    return Number.isInteger(index) && index >= 0 && index <= MAX_OPERATIONS
  }),
  ids: listOfAll('a list of ids', isId),
  shape: { expected: `one of: ${COUNT_SHAPES.join(', ')}`, isValid: (value) => COUNT_SHAPES.some((shape) => shape === value) },
  statuses: listOfAll('a list of the statuses 100, 102 or 103', (value) => [100, 102, 103].includes(numberOf(value))),
  close: aBoolean,
  headers: {
    expected: 'an object of valid names and values of headers',
    isValid: (value) => isPlainRecord(value) && Object.entries(value).every(([name, one]) => isHeader(name, one)),
  },
  retry_after: aHeaderValue,
  reset: aHeaderValue,
  type: aHeaderValue,
} satisfies Record<
  IntegerSetting | 'indices' | 'ids' | 'shape' | 'statuses' | 'close' | 'headers' | 'retry_after' | 'reset' | 'type',
  ValueCheck
>

/** Checks that replace those of `SETTING_CHECKS`, by kind. */
const CHECKS_OF_KINDS: Partial<Record<FaultKind, Readonly<Record<string, ValueCheck>>>> = {
  short: { by: fromZero },
  large: { bytes: integerFrom(0, MAX_CHARACTERS) },
  // One call of zlib compresses less than 2^32 bytes.
  gzip_bomb: { bytes: integerFrom(0, 4_000_000_000) },
}

/** Settings that may be null, by kind. The answer of the fault then contains null. */
const NULL_SETTINGS: Partial<Record<FaultKind, readonly string[]>> = { counts: ['success', 'total'], status: ['body'] }

/** Removes fields that are null, except those named in `kept`. */
function withoutNulls(input: Readonly<Record<string, unknown>>, kept: readonly string[] = []): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(input).filter(([name, value]) => value !== null || kept.includes(name)))
}

function readTimes(times: unknown): number | null {
  if (times === null || times === 'always' || times === 0 || times === -1) return null
  if (!fromOne.isValid(times)) throw new ControlError(`times must be ${fromOne.expected}, or one of "always", null, 0 and -1 for no limit`)
  return Number(times)
}

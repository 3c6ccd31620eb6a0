/** Renders operations of user lists (spec 2.3 'User-list operation item', spec 4.3). */
import { identifierTypes, type PackedIdentifier } from '../model/record.ts'

/** Operation on one user, or on several in a batched operation. */
export interface UserOperation {
  readonly op: 'update' | 'delete'
  /** Packed identifiers of each user (type byte, then digest or text), as bytes or in hex. */
  readonly users: readonly (readonly (PackedIdentifier | string)[])[]
  /** Start of the membership in milliseconds since 1970, sent as whole seconds. Not sent for deletes. */
  readonly effectiveAtMs?: number
  /** End of the membership, in the same form. */
  readonly expiresAtMs?: number
}

/** Type byte of `partner_user_id`, the only identifier that is sent as plain text. */
export const plainType = identifierTypes.indexOf('partner_user_id') + 1

/**
 * Renders one operation. The same input gives the same bytes (docs/guarantees.md#idempotent-resend):
 * - the JSON keys of the operation are sorted
 * - identifier types are in the order of `identifierTypes`
 * - identifiers of one type are in the given order
 *
 * Concatenates strings, because this is twice as fast as JSON.stringify here.
 */
export function renderUserOperation(operation: UserOperation): Buffer {
  let text = operation.op === 'delete' ? deleteOpen : '{"operation_type":"Update","params":{'
  if (operation.op === 'update') {
    if (operation.effectiveAtMs !== undefined) text += `"effective_at":"${wireTime(operation.effectiveAtMs)}",`
    if (operation.expiresAtMs !== undefined) text += `"expires_at":"${wireTime(operation.expiresAtMs)}",`
  }
  text += usersOpen
  for (let i = 0; i < operation.users.length; i++) {
    text += (i === 0 ? '{' : ',{') + renderUser(operation.users[i]!) + '}'
  }
  return Buffer.from(text + usersClose)
}

const deleteOpen = '{"operation_type":"Delete","params":{'
const usersOpen = '"users":['
const usersClose = ']}}'

/**
 * Renders one operation that deletes the users of these updates. Keeps each user object as it is, because the service may search one user
 * for each object (docs/decisions/identifier-groups.md).
 */
export function renderDeleteOf(updates: readonly Buffer[]): Buffer {
  const users = updates.map((update) =>
    update.toString('utf8', update.indexOf(usersOpen) + usersOpen.length, update.length - usersClose.length),
  )
  return Buffer.from(`${deleteOpen}${usersOpen}${users.join()}${usersClose}`)
}

/** Part of an operation on several users: an operation on some of them, with the same type and times. */
export interface OperationPart {
  readonly bytes: Buffer
  /** Packed identifiers of all its users. */
  readonly keys: readonly Buffer[]
  /** Packed identifiers of its first user. */
  readonly firstUser: readonly Buffer[]
  readonly users: number
}

/**
 * Halves a rendered operation between two users. Copies the bytes of each user. `keys`: packed identifiers of all users, in their order.
 * Returns undefined if the operation has one user, or if the users do not have exactly these identifiers.
 */
export function halveOperation(operation: Buffer, keys: readonly Buffer[]): readonly [OperationPart, OperationPart] | undefined {
  const text = operation.toString()
  const from = text.indexOf(usersOpen) + usersOpen.length
  const open = text.slice(0, from)
  const { users } = (JSON.parse(text) as { readonly params: { readonly users: readonly RenderedUser[] } }).params
  const texts = users.map((user) => JSON.stringify(user))
  if (users.length < 2 || `${open}${texts.join()}${usersClose}` !== text) return undefined
  const middle = Math.ceil(users.length / 2)
  let at = 0
  const parts = [users.slice(0, middle), users.slice(middle)].map((half, index): OperationPart | undefined => {
    const sizes = half.map((user) => valuesOf(user).length)
    const ofHalf = keys.slice(at, at + sizes.reduce((sum, size) => sum + size, 0))
    at += ofHalf.length
    if (half.flatMap(valuesOf).sort().join() !== ofHalf.map(renderTyped).sort().join()) return undefined
    const bytes = Buffer.from(`${open}${texts.slice(index * middle, index * middle + half.length).join()}${usersClose}`)
    return { bytes, keys: ofHalf, firstUser: ofHalf.slice(0, sizes[0]), users: half.length }
  })
  const [left, right] = parts
  return left === undefined || right === undefined || at !== keys.length ? undefined : [left, right]
}

/** User of a rendered operation: values by type of identifier. */
type RenderedUser = Readonly<Record<string, readonly string[]>>

/** Returns the values of a user, each with its type. */
const valuesOf = (user: RenderedUser): string[] =>
  Object.entries(user).flatMap(([type, values]) => values.map((value) => `${type} ${JSON.stringify(value)}`))

/** Returns a packed identifier as `valuesOf` does. */
const renderTyped = (identifier: Buffer): string => `${identifierTypes[typeOf(identifier) - 1]} ${renderValue(identifier)}`

/**
 * Returns the text of an operation on one user before (`open`) and after (`close`) the user's identifiers. `close` includes the brace
 * that ends the user. The list of each identifier type begins with the type's `listOpenings`, and ends with `]`.
 */
export function textAroundUser(operation: Omit<UserOperation, 'users'>): { readonly open: string; readonly close: string } {
  const text = renderUserOperation({ ...operation, users: [[]] }).toString()
  const close = '}]}}'
  return { open: text.slice(0, -close.length), close }
}

/** Text before the first value of each type of identifier in a user, by type byte. Empty for 0, because 0 is not a type. */
export const listOpenings: readonly string[] = ['', ...identifierTypes.map((type) => `"${type}":[`)]

/** Formats a time as ISO 8601 in UTC, whole seconds. Source: the samples of the specification. */
export function wireTime(ms: number): string {
  // Most operations of a plan have the same times. Without the cache, formatting took half of the rendering.
  const known = wireTimes.get(ms)
  if (known !== undefined) return known
  const text = `${new Date(ms).toISOString().slice(0, 19)}Z`
  if (wireTimes.size >= 1_000) wireTimes.clear()
  wireTimes.set(ms, text)
  return text
}

const wireTimes = new Map<number, string>()

/** Returns the JSON members of one user, sorted by type of identifier; empty without identifiers. */
function renderUser(identifiers: readonly (PackedIdentifier | string)[]): string {
  let text = ''
  let previousType = 0
  for (let i = 0; i < identifiers.length; i++) {
    const identifier = identifiers[i]!
    const type = typeOf(identifier)
    if (type < previousType) return renderUser(identifiers.toSorted((a, b) => typeOf(a) - typeOf(b)))
    if (type > previousType) text += (previousType === 0 ? '' : '],') + listOpenings[type]
    else text += ','
    text += renderValue(identifier)
    previousType = type
  }
  return previousType === 0 ? '' : text + ']'
}

function typeOf(identifier: PackedIdentifier | string): number {
  // There are fewer than ten types, so the second hex digit is the whole type byte.
  return typeof identifier === 'string' ? identifier.charCodeAt(1) - 48 : identifier[0]!
}

/** Returns a packed identifier as a JSON string. */
export function renderValue(identifier: PackedIdentifier | string): string {
  if (typeOf(identifier) === plainType) {
    return JSON.stringify(
      typeof identifier === 'string' ? Buffer.from(identifier.slice(2), 'hex').toString() : identifier.toString('utf8', 1),
    )
  }
  return '"' + (typeof identifier === 'string' ? identifier.slice(2) : identifier.toString('hex', 1)) + '"'
}

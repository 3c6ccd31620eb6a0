/** A header bound to the parts of a member, in the form that each row's mapping needs. */
import type { ValueTest } from '../../pipeline/definition.ts'
import type { BoundAge } from '../age.ts'
import type { BoundField } from '../fields.ts'
import type { IdentifierRules } from '../identifiers/normalize.ts'
import type { IdentifierType } from '../record.ts'
import { trimText } from '../text.ts'

export interface MemberBinding {
  /** Undefined for do-not-reach lists without a key: the row's identifiers together are its key. */
  readonly key: BoundField | undefined
  /** The identifier kind that reads the very same column as the key does. */
  readonly keyKind: IdentifierType | undefined
  readonly identifiers: readonly BoundIdentifier[]
  readonly effectiveAt: BoundField | undefined
  readonly expiresAt: BoundField | undefined
  /** When a membership of today ends whose row names no end; milliseconds since 1970. */
  readonly defaultEndMs: number
  /** All of them must say yes; none: everybody counts as consenting. */
  readonly consent: readonly BoundTest[]
  readonly ages: readonly BoundAge[]
  /** Do-not-reach lists: a row of which all of them are true comes off the list; none: nobody does. */
  readonly remove: readonly BoundTest[]
  readonly rules: MemberRules
}

export interface BoundTest {
  readonly index: number
  readonly values: ReadonlySet<string>
}

export interface BoundIdentifier extends BoundField {
  readonly kind: IdentifierType
  readonly hashed: boolean
  /** Fixed country, or the index of the column that holds it. */
  readonly country: string | number | undefined
}

export interface MemberRules extends IdentifierRules {
  /** Base64 digests in columns declared as hashed are taken (bad-inputs 115). */
  readonly base64: boolean
  /** Cells that hold several addresses are cut at `,` `;` `|` and ` ::: ` (bad-inputs 104, 191). */
  readonly splitLists: boolean
}

/** Values of a test as `isOneOf` compares them. */
export function testValues(test: Pick<ValueTest, 'values'>): ReadonlySet<string> {
  return new Set(test.values.map((value) => trimText(value).toLowerCase()))
}

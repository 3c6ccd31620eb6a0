/** Header bound to the parts of a member, in the form that the mapping of each row needs. */
import type { BoundAge } from '../age.ts'
import type { BoundConsent } from '../consent/consentTest.ts'
import type { BoundField } from '../fields.ts'
import type { IdentifierRules } from '../identifiers/normalize.ts'
import type { IdentifierType } from '../../model/record.ts'

export interface MemberBinding {
  /** Undefined for do-not-reach lists without a key: the row's identifiers together are its key. */
  readonly key: BoundField | undefined
  /** Identifier type that is mapped to the same column as the key. */
  readonly keyKind: IdentifierType | undefined
  readonly identifiers: readonly BoundIdentifier[]
  readonly effectiveAt: BoundField | undefined
  readonly expiresAt: BoundField | undefined
  /** End of a membership that starts today if the row names none; milliseconds since 1970. */
  readonly defaultEndMs: number
  /** Tests that must all pass; without tests every row counts as consenting. */
  readonly consent: readonly BoundConsent[]
  /** Tests that apply to the identifiers of one type only. */
  readonly consentByType: readonly (BoundConsent & { readonly kind: IdentifierType })[]
  readonly ages: readonly BoundAge[]
  /** Do-not-reach lists: a row that passes all of these tests is removed from the list; without tests, no row is. */
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
  /** Fixed country, or the index of the column of countries. */
  readonly country: string | number | undefined
}

export interface MemberRules extends IdentifierRules {
  /** Accepts base64 digests in columns declared as hashed (docs/inputs.md, case 115). */
  readonly base64: boolean
  /** Splits cells with several addresses at `,` `;` `|` and ` ::: ` (docs/inputs.md, cases 104 and 191). */
  readonly splitLists: boolean
}

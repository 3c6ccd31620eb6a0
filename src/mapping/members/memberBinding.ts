import type { BoundAge } from './age.ts'
import type { BoundTest } from '../consent/consentTest.ts'
import type { BoundField } from '../fields.ts'
import type { IdentifierRules } from '../identifiers/normalize.ts'
import type { IdentifierType } from '../../model/record.ts'

/** Parts of a member, each with its columns of one header, and the rules for the values. */
export interface MemberBinding {
  /** Mapped key of a row. Undefined if neither `map:` nor the preset has one for this header. */
  readonly key: BoundField | undefined
  /** True if the key column is required or mapped. Otherwise the key of a row is computed from its identifiers that have consent. */
  readonly expectsKeyColumn: boolean
  /** Identifier type of the key's first column. Undefined if there is none, or if the key is a constant, computed or transformed. */
  readonly keyType: IdentifierType | undefined
  /** Identifier types of the key's other columns, in order. Empty unless all columns of the key are identifiers. */
  readonly otherKeyTypes: readonly IdentifierType[]
  readonly identifiers: readonly BoundIdentifier[]
  readonly effectiveAt: BoundField | undefined
  readonly expiresAt: BoundField | undefined
  /** End of the membership of a row without `expires_at`, if it starts today; milliseconds since 1970. */
  readonly defaultEndMs: number
  /** An `expires_at` of this time or later counts as empty; milliseconds since 1970. */
  readonly latestEndMs: number
  /** Tests about the whole row. All must pass. Without tests, every row counts as consenting. */
  readonly consent: readonly BoundTest[]
  /** Tests that apply only to the identifiers of the type in their `appliesTo`. */
  readonly consentByType: readonly BoundTest[]
  readonly ages: readonly BoundAge[]
  /** True for a do-not-reach list. A person whose row is rejected there is still sent to the audiences. */
  readonly isDoNotReach: boolean
  /** Tests of a do-not-reach list. A row that passes all of them is removed from the list. Without tests, no row is. */
  readonly remove: readonly BoundTest[]
  readonly rules: MemberRules
}

/** Identifier type with its columns. */
export interface BoundIdentifier extends BoundField {
  readonly type: IdentifierType
  /** True if the column is declared to contain digests, so raw values are rejected. */
  readonly hashed: boolean
  /** Two-letter code, or index of the country column, for phone numbers without +. */
  readonly country: string | number | undefined
}

/** Settings for the accepted spellings of identifiers. */
export interface MemberRules extends IdentifierRules {
  /** Accepts base64 digests in columns declared as hashed (docs/inputs.md, case 115). */
  readonly acceptsBase64: boolean
  /** Splits cells with several emails at `,` `;` `|` and ` ::: ` (docs/inputs.md, cases 104 and 191). */
  readonly splitsLists: boolean
}

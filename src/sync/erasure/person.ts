/** Computes the keys to suppress from the identifiers that a command was given for a person. These identifiers are not stored. */
import { UsageError } from '../../errors.ts'
import { ensureDestination } from '../../db/destinations.ts'
import { identifiersOf, type ErasedKeys } from '../../db/erasures.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { destinationKey } from '../destinationKey.ts'
import type { EngineDeps } from '../engine.ts'
import { memberKeysOf, packedForms } from '../../mapping/lookupKeys.ts'

/** Identifiers as they were typed. */
export interface Person {
  readonly emails: readonly string[]
  readonly phones: readonly string[]
  /** Customer keys of one audience. */
  readonly keys: readonly string[]
}

/**
 * Returns the keys to suppress:
 *
 * - all forms of the emails and phone numbers
 * - the record keys that the customer keys may have
 * - the identifiers in the stored records with these record keys
 *
 * `pipeline`: the pipeline whose audience has the customer keys; undefined: the customer keys are ignored. Stores the destination of the
 * pipeline if it is new.
 *
 * @throws {UsageError} `INVALID_VALUE`, without the value
 */
export async function erasedKeysOf(
  deps: Pick<EngineDeps, 'db' | 'service'>,
  { emails, phones, keys }: Person,
  pipeline: Pipeline | undefined,
): Promise<ErasedKeys> {
  const identifiers = [
    ...emails.flatMap((text, index) => formsOf('email', text, optionAt('--email', index, emails.length))),
    ...phones.flatMap((text, index) => formsOf('phone_number', text, optionAt('--phone', index, phones.length))),
  ]
  if (pipeline === undefined) return { identifiers: unique(identifiers), records: [] }
  const { id } = await ensureDestination(deps.db, destinationKey(deps, pipeline))
  const recordKeys = unique(keys.flatMap((text) => memberKeysOf(text, pipeline)))
  return {
    identifiers: unique([...identifiers, ...(await identifiersOf(deps.db, id, recordKeys))]),
    records: recordKeys.map((key) => ({ destinationId: id, key })),
  }
}

/**
 * Returns the packed digests of an identifier in every form that may have been sent. `where`: option of the command, for the error.
 *
 * @throws {UsageError} `INVALID_VALUE`
 */
function formsOf(kind: 'email' | 'phone_number', text: string, where: string): readonly Buffer[] {
  const packed = packedForms(kind, text)
  if (packed.length > 0) return packed
  throw new UsageError(
    'INVALID_VALUE',
    `${where} is not ${kind === 'email' ? 'an email address' : 'a phone number with country code'}. Nothing was erased.`,
    { where, hint: kind === 'email' ? 'sluice forget --email jane@example.com' : 'sluice forget --phone +12025550123' },
  )
}

/** Returns the option; if it was given several times, with the number of the value: `--email (number 2)`. `index`: from 0. */
const optionAt = (option: string, index: number, count: number): string => (count === 1 ? option : `${option} (number ${index + 1})`)

/** Returns the keys without repeats, in the order of their first occurrence. */
export function unique(keys: readonly Buffer[]): readonly Buffer[] {
  return [...new Map(keys.map((key) => [key.toString('hex'), key])).values()]
}

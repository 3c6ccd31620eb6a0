/** Computes the keys to suppress from the identifiers of a person. Stores no identifier. */
import { UsageError } from '../../errors.ts'
import { ensureDestination } from '../../db/destinations.ts'
import { identifiersOf, type ErasedKeys } from '../../db/erasures.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { destinationKey } from '../destinationKey.ts'
import type { EngineDeps } from '../engine.ts'
import { memberKeysOf, packedForms } from '../../mapping/lookupKeys.ts'

/** Identifiers as they were typed. `keys`: customer keys of one audience. */
export interface Person {
  readonly emails: readonly string[]
  readonly phones: readonly string[]
  readonly keys: readonly string[]
}

/**
 * Returns the keys to suppress:
 *
 * - all forms of the emails and phone numbers
 * - the record keys of the customer keys, and the identifiers of the stored records with these keys
 *
 * `pipeline`: pipeline of the audience of the customer keys; undefined ignores these keys. Creates the row of its destination if it is
 * missing.
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
  if (pipeline === undefined) return { identifiers: uniqueKeys(identifiers), records: [] }
  const { id } = await ensureDestination(deps.db, destinationKey(deps, pipeline))
  const recordKeys = uniqueKeys(keys.flatMap((text) => memberKeysOf(text, pipeline)))
  return {
    identifiers: uniqueKeys([...identifiers, ...(await identifiersOf(deps.db, id, recordKeys))]),
    records: recordKeys.map((key) => ({ destinationId: id, key })),
  }
}

/**
 * Returns the digests of every form in which the identifier may have been sent. Before each digest is a byte for its type. `where`: option
 * of the command, for the error.
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

/** Returns the option for an error, such as `--email (number 2)` for the second of several. */
const optionAt = (option: string, index: number, count: number): string => (count === 1 ? option : `${option} (number ${index + 1})`)

export function uniqueKeys(keys: readonly Buffer[]): readonly Buffer[] {
  return [...new Map(keys.map((key) => [key.toString('hex'), key])).values()]
}

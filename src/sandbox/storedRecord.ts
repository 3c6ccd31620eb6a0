/** Type of stored records: the fields of their wire form, as the contract describes them. */
import type { resources, ResourceName } from '../service/contract/resources.ts'

/** Types of stored values, by the type of their field in the contract. */
interface StoredTypes {
  readonly string: string
  readonly enum: string
  readonly timestamp: string
  readonly integer: number
  readonly long: bigint
  readonly boolean: boolean
  readonly strings: readonly string[]
}

type StoredValue<F> =
  | (F extends { readonly type: infer Type extends keyof StoredTypes } ? StoredTypes[Type] : unknown)
  | (F extends { readonly nullable: true } ? null : never)
type FieldsOf<R extends ResourceName> = (typeof resources)[R]['fields'][number]
type Optional = { readonly optional: true }

/** Record with the fields of its wire form, as the contract describes them. */
export type StoredRecord<R extends ResourceName> = {
  [F in FieldsOf<R> as F extends Optional ? never : F['name']]: StoredValue<F>
} & { [F in FieldsOf<R> as F extends Optional ? F['name'] : never]?: StoredValue<F> }

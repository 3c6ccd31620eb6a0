/** Schema of `product_sets` of a catalog: sets of products that are defined by a rule (docs/pipelines.md#product-sets). */
import { z } from 'zod'
import type { ProductSetRule, SetFilter } from '../model/pipeline.ts'
import { scalarText, strict, text } from '../settings/values.ts'

const textFields = [
  'product_type',
  'google_product_category',
  'custom_label_0',
  'custom_label_1',
  'custom_label_2',
  'custom_label_3',
  'custom_label_4',
] as const
const numberFields = ['price', 'sale_price', 'inventory'] as const

const hasValue = (given: object): boolean => Object.values(given).some((value) => value !== undefined)
const number = z.number('must be a number').refine(Number.isFinite, 'must be a number')
const value = scalarText.refine((given) => given.trim() !== '', 'must not be empty')
const textTest = z.union(
  [
    value,
    strict({ is: value.optional(), contains: value.optional(), not_contains: value.optional() }).refine(
      hasValue,
      'needs is, contains or not_contains',
    ),
  ],
  'must be a value, or { is, contains, not_contains }',
)
const numberTest = z.union(
  [
    number,
    strict({ is: number.optional(), above: number.optional(), below: number.optional() }).refine(hasValue, 'needs is, above or below'),
  ],
  'must be a number, or { is, above, below }',
)

const where = strict({
  brand: value.optional(),
  ...Object.fromEntries(textFields.map((field) => [field, textTest.optional()])),
  ...Object.fromEntries(numberFields.map((field) => [field, numberTest.optional()])),
})
  .refine(hasValue, 'needs at least one condition')
  .refine(
    (given) => given.brand === undefined || Object.values(given).filter((condition) => condition !== undefined).length === 1,
    'brand cannot be combined: for several conditions, map the brand to a custom label',
  )

const entry = strict({
  name: text('a name').max(255, 'must be at most 255 characters'),
  description: text('a text').max(255, 'must be at most 255 characters').optional(),
  where,
})

export const productSetsSchema = z
  .array(entry, 'must be a list of { name, where }')
  .refine((sets) => new Set(sets.map(({ name }) => name.trim().toLowerCase())).size === sets.length, 'each set needs a name of its own')

/** Returns the rules with their filters in the form of the service. A rule for a brand has no filters: its set lists products. */
export function toProductSets(given: z.output<typeof productSetsSchema>): ProductSetRule[] {
  return given.map(({ name, description, where: conditions }) => {
    const { brand, ...fields } = conditions
    return {
      name: name.trim(),
      ...(description === undefined ? {} : { description }),
      filters: Object.entries(fields).flatMap(([field, test]) => filtersOf(field, test)),
      ...(brand === undefined ? {} : { brand }),
    }
  })
}

/** Operators of the service by test. Lacks `is`, whose operator depends on the field. */
const operators: Readonly<Record<string, string>> = {
  contains: 'CONTAINS',
  not_contains: 'NOT_CONTAINS',
  above: 'GREATER_THAN',
  below: 'LESS_THAN',
}

/** Returns the filters of one condition. `test`: a value, or an object with tests and their values. */
function filtersOf(attribute: string, test: unknown): SetFilter[] {
  if (test === undefined) return []
  const equality = numberFields.some((field) => field === attribute) ? 'EQUAL_TO' : 'MATCH'
  if (typeof test !== 'object' || test === null) return [{ attribute, operator: equality, value: String(test) }]
  return Object.entries(test).flatMap(([name, compared]) =>
    compared === undefined ? [] : [{ attribute, operator: operators[name] ?? equality, value: String(compared) }],
  )
}

/** Settings of a pipeline for its products, prepared once for all rows. */
import type { MappingOptions, Pipeline } from '../../model/pipeline.ts'
import { trimText } from '../text.ts'
import type { PriceOptions, PriceResult } from './price.ts'
import { ValueMemo } from './valueMemo.ts'
import { productFields, type ProductField } from './vocabulary.ts'

export interface ProductRules {
  readonly options: MappingOptions
  readonly price: PriceOptions
  /** Names in `options.allow`. */
  readonly allowed: ReadonlySet<string>
  readonly httpImagesRefused: boolean
  readonly zeroRefused: boolean
  /** Words of the source (lower case) and the service's words for them, by field. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** By field: cell → JSON of its value, for cells that caused no warning. */
  readonly known: Readonly<Record<ProductField, ValueMemo<string>>>
  readonly prices: ValueMemo<PriceResult>
}

export function productRules({ mapping: options }: Pick<Pipeline, 'mapping'>): ProductRules {
  const allowed = new Set(options.allow)
  return {
    options,
    allowed,
    httpImagesRefused: options.refuse?.includes('http_image') === true,
    zeroRefused: options.refuse?.includes('zero_price') === true,
    price: {
      ...(options.defaultCurrency === undefined ? {} : { defaultCurrency: options.defaultCurrency }),
      codeFirstAllowed: allowed.has('price_code_first'),
      wideAllowed: allowed.has('wide_digits'),
    },
    values: new Map(
      Object.entries(options.values).map(([field, map]) => [
        field,
        new Map(Object.entries(map).map(([from, to]) => [trimText(from).toLowerCase(), to])),
      ]),
    ),
    // The cast is safe: every field has an entry.
    known: Object.fromEntries(productFields.map((field) => [field, new ValueMemo()])) as Record<ProductField, ValueMemo<string>>,
    prices: new ValueMemo(),
  }
}

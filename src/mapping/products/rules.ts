/** Prepares the settings of a pipeline for its products, once for all rows. Keeps results for rows with equal cells. */
import type { MappingOptions, Pipeline } from '../../model/pipeline.ts'
import { trimText } from '../text.ts'
import type { PriceOptions, PriceResult } from './price.ts'
import { ValueMemo } from './valueMemo.ts'
import { productFields, type ProductField } from './vocabulary.ts'

/** Settings of one pipeline, and memos for results that repeat over its rows. */
export interface ProductRules {
  readonly options: MappingOptions
  readonly price: PriceOptions
  /** Names in `options.allow`. */
  readonly allowed: ReadonlySet<string>
  /** True if `options.refuse` names `http_image`. */
  readonly httpImagesRejected: boolean
  /** True if `options.refuse` names `zero_price`. */
  readonly zeroRejected: boolean
  /** From `options.values`: field → word of the source, in lower case → word to send. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** Field → cell → JSON of the field's value. Has only cells that caused no warning. */
  readonly knownJson: Readonly<Record<ProductField, ValueMemo<string>>>
  /** Text of a price → result of `parsePrice`. */
  readonly prices: ValueMemo<PriceResult>
}

/** Returns the rules of a pipeline, with empty memos. */
export function productRules({ mapping: options }: Pick<Pipeline, 'mapping'>): ProductRules {
  const allowed = new Set(options.allow)
  return {
    options,
    allowed,
    httpImagesRejected: options.refuse?.includes('http_image') === true,
    zeroRejected: options.refuse?.includes('zero_price') === true,
    price: {
      ...(options.defaultCurrency === undefined ? {} : { defaultCurrency: options.defaultCurrency }),
      codeFirstAllowed: allowed.has('price_code_first'),
      wideAllowed: allowed.has('wide_digits'),
    },
    values: new Map(
      Object.entries(options.values).map(([field, map]) => [
        field,
        new Map(Object.entries(map ?? {}).map(([from, to]) => [trimText(from).toLowerCase(), to])),
      ]),
    ),
    // The cast is safe: every field has an entry.
    knownJson: Object.fromEntries(productFields.map((field) => [field, new ValueMemo()])) as Record<ProductField, ValueMemo<string>>,
    prices: new ValueMemo(),
  }
}

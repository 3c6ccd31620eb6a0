import type { MappingOptions, Pipeline } from '../../model/pipeline.ts'
import { trimText } from '../text.ts'
import type { PriceOptions, PriceResult } from './price.ts'
import { ValueMemo } from './valueMemo.ts'
import { mappableFields, type ProductField } from './vocabulary.ts'

/** Settings of one pipeline, and memos for results that repeat over its rows. */
export interface ProductRules {
  readonly options: MappingOptions
  readonly price: PriceOptions
  /** Values of `options.allow`. */
  readonly allowed: ReadonlySet<string>
  readonly httpImagesRejected: boolean
  readonly zeroPriceRejected: boolean
  /** From `options.values`: field → word of the source, in lower case → word to send. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** Field → cell → JSON of the field's value, for cells that caused no warning. */
  readonly jsonMemos: Readonly<Record<ProductField, ValueMemo<string>>>
  /** Text of a price → result of `parsePrice`. */
  readonly priceMemo: ValueMemo<PriceResult>
}

export function productRules({ mapping: options }: Pick<Pipeline, 'mapping'>): ProductRules {
  const allowed = new Set(options.allow)
  return {
    options,
    allowed,
    httpImagesRejected: options.refuse?.includes('http_image') === true,
    zeroPriceRejected: options.refuse?.includes('zero_price') === true,
    price: {
      ...(options.defaultCurrency === undefined ? {} : { defaultCurrency: options.defaultCurrency }),
      codeFirstAllowed: allowed.has('price_code_first'),
      fullWidthAllowed: allowed.has('wide_digits'),
    },
    values: new Map(
      Object.entries(options.values).map(([field, map]) => [
        field,
        new Map(Object.entries(map ?? {}).map(([from, to]) => [trimText(from).toLowerCase(), to])),
      ]),
    ),
    // The cast is safe: every field has an entry.
    jsonMemos: Object.fromEntries(mappableFields.map((field) => [field, new ValueMemo()])) as Record<ProductField, ValueMemo<string>>,
    priceMemo: new ValueMemo(),
  }
}

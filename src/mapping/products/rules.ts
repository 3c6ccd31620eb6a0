/** Settings of a pipeline for its products, in the form that the mapping of each row needs. */
import type { MappingOptions, Pipeline } from '../../model/pipeline.ts'
import { trimText } from '../text.ts'
import type { PriceOptions } from './price.ts'

export interface ProductRules {
  readonly options: MappingOptions
  readonly price: PriceOptions
  readonly allow: ReadonlySet<string>
  readonly httpImagesRefused: boolean
  readonly zeroRefused: boolean
  /** Field → lower-case word → word of the service. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string>>
}

export function productRules({ mapping: options }: Pick<Pipeline, 'mapping'>): ProductRules {
  const allow = new Set(options.allow)
  return {
    options,
    allow,
    httpImagesRefused: options.refuse?.includes('http_image') === true,
    zeroRefused: options.refuse?.includes('zero_price') === true,
    price: {
      ...(options.defaultCurrency === undefined ? {} : { defaultCurrency: options.defaultCurrency }),
      codeFirstAllowed: allow.has('price_code_first'),
      wideAllowed: allow.has('wide_digits'),
    },
    values: new Map(
      Object.entries(options.values).map(([field, map]) => [
        field,
        new Map(Object.entries(map).map(([from, to]) => [trimText(from).toLowerCase(), to])),
      ]),
    ),
  }
}

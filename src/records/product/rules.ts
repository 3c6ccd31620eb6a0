/** What a pipeline's settings ask of its products, in the form that each row's mapping needs. */
import type { MappingOptions, Pipeline } from '../../pipeline/definition.ts'
import { trimText } from '../text.ts'
import type { PriceOptions } from './price.ts'

export interface ProductRules {
  readonly options: MappingOptions
  readonly price: PriceOptions
  readonly allow: ReadonlySet<string>
  readonly httpImagesRefused: boolean
  /** `guards.hold` names PRICE_ZERO. */
  readonly zeroHolds: boolean
  /** Field → lower-case word → word of the service. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string>>
}

export function productRules({ mapping: options, guards }: Pick<Pipeline, 'mapping' | 'guards'>): ProductRules {
  const allow = new Set(options.allow)
  return {
    options,
    allow,
    httpImagesRefused: options.refuse?.includes('http_image') === true,
    zeroHolds: guards.hold?.includes('PRICE_ZERO') === true,
    price: {
      ...(options.defaultCurrency === undefined ? {} : { defaultCurrency: options.defaultCurrency }),
      zeroAllowed: allow.has('zero_price'),
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

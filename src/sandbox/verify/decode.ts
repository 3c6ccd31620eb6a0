/** Decodes the text of a parameter to the value that handlers get, or returns the error (docs/spec-notes.md#errors). */
import type { Parameter } from '../../service/contract/endpoint.ts'
import { invalidParameter, type AdsError } from '../refusal.ts'
import { countCodePoints } from '../text.ts'
import { isoSeconds, parseTimestamp } from '../timestamps.ts'

type Decoded = { readonly value: unknown } | { readonly error: AdsError }

/** Decodes one value. Accepts booleans in any case, such as `True` of Python; with `strict` only in lower case, as documented. */
export function decode(parameter: Parameter, text: string, strict = false): Decoded {
  const { name } = parameter
  const wrong = (expected: string, details?: string): Decoded => ({ error: invalidParameter(name, expected, text, details) })
  switch (parameter.type) {
    case 'string':
    case 'url': {
      const length = countCodePoints(text)
      if (parameter.type === 'url' && !URL.canParse(text)) return wrong('url', 'invalid url')
      if (parameter.required === true && text === '' && (parameter.minLength ?? 1) > 0) return wrong('string')
      if (parameter.maxLength !== undefined && length > parameter.maxLength) return wrong(`at most ${parameter.maxLength} characters`)
      if (parameter.minLength !== undefined && length < parameter.minLength) return wrong(`at least ${parameter.minLength} characters`)
      return { value: text }
    }
    case 'enum':
      return parameter.values === undefined || parameter.values.includes(text)
        ? { value: text }
        : wrong(`one of ${parameter.values.join(', ')}`)
    case 'boolean': {
      const word = strict ? text : text.toLowerCase()
      if (word === 'true' || word === '1' || word === 't') return { value: true }
      return word === 'false' || word === '0' || word === 'f' ? { value: false } : wrong('boolean')
    }
    case 'integer':
    case 'long': {
      if (!/^-?\d{1,19}$/.test(text)) return wrong(parameter.type)
      const value = BigInt(text)
      if (BigInt.asIntN(64, value) !== value) return wrong(parameter.type)
      if ((parameter.min !== undefined && value < BigInt(parameter.min)) || (parameter.max !== undefined && value > BigInt(parameter.max)))
        return wrong(
          `${parameter.type}${parameter.min === undefined ? '' : ` from ${parameter.min}`}${parameter.max === undefined ? '' : ` to ${parameter.max}`}`,
        )
      if (parameter.values !== undefined && !parameter.values.includes(String(value))) return wrong(`one of ${parameter.values.join(', ')}`)
      return { value: parameter.type === 'long' ? value : Number(value) }
    }
    case 'timestamp':
    case 'hour': {
      const at = parseTimestamp(text)
      if (at === undefined) return wrong('time', 'invalid date')
      if (parameter.type === 'hour' && at % 3_600_000 !== 0) return wrong('whole hour', 'minutes and seconds must be zero')
      return { value: isoSeconds(at) }
    }
    case 'csv':
    case 'csv-enum': {
      const items = text.split(',').map((item) => item.trim())
      if (items.some((item) => item === '')) return wrong('comma-separated list')
      if (parameter.maxItems !== undefined && items.length > parameter.maxItems)
        return { error: invalidParameter(name, `at most ${parameter.maxItems} items`, `${items.length} items`) }
      const unknown = items.find(
        (item) => parameter.type === 'csv-enum' && parameter.values !== undefined && !parameter.values.includes(item),
      )
      if (unknown !== undefined) return { error: invalidParameter(name, `any of ${parameter.values?.join(', ') ?? ''}`, unknown) }
      return { value: items }
    }
    case 'object':
    case 'array':
      try {
        const value: unknown = JSON.parse(text)
        return Array.isArray(value) === (parameter.type === 'array') ? { value } : wrong(parameter.type)
      } catch {
        return wrong(parameter.type)
      }
  }
}

/** Builds schemas of values in pipeline and project files. A message about an unknown key or word suggests the most similar known one. */
import { z } from 'zod'
import { suggestName } from '../suggestName.ts'
import { listOf } from '../unknownValue.ts'
import { parseDuration } from './duration.ts'

/** Returns the schema of an object with these keys only. */
export function strict<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return issue.code === 'invalid_type' ? 'must be an object' : undefined
      const known = Object.keys(shape)
      return listOf(issue['keys'])
        .map(String)
        .map((key) => unknownNameMessage('key', key, known))
        .join('; ')
    },
  })
}

/** Returns the message about an unknown name: `unknown key "fromat"; did you mean "format"?`. */
export function unknownNameMessage(noun: string, name: string, known: readonly string[]): string {
  const near = suggestName(name, known)
  return `unknown ${noun} "${name}"${near === undefined ? `; known are ${known.join(', ')}` : `; did you mean "${near}"?`}`
}

/** Returns the schema of a text that is not empty. `expected`: end of the message "must be …". */
export const text = (expected: string) => z.string(`must be ${expected}`).min(1, `must be ${expected}`)
/** Returns the schema of one of several words. */
export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, {
    error: (issue) => {
      const near = typeof issue.input === 'string' ? suggestName(issue.input, words) : undefined
      return `must be one of ${words.join(', ')}${near === undefined ? '' : `; did you mean "${near}"?`}`
    },
  })
/** Schema of a text. Converts numbers and booleans to texts, because YAML reads some unquoted texts as such. */
export const scalarText = z.union([z.string(), z.number(), z.boolean()], 'must be a text').transform(String)
export const column = text('the name of a column')

/** Returns the schema of a whole number from `least` to `most`. */
export const count = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  z.int('must be a whole number').min(least, `must be ${least} or more`).max(most, `must be ${most} or less`)

const idMessage = 'must be an id; write it in quotes'
/** Schema of an id: a text, or a whole number, because YAML reads an unquoted 1234 as a number. Rejects numbers from 2^53 on. */
export const id = z
  .union([z.string(), z.int(idMessage).nonnegative(idMessage)], idMessage)
  .transform(String)
  .refine((value) => /^[A-Za-z0-9_-]{1,64}$/.test(value), 'must be an id of up to 64 letters, digits, - and _')
const maxMonths = 1200
/** `maxMonths` in milliseconds: 100 years with 25 leap days. */
const maxDurationMs = 36_525 * 86_400_000
/**
 * Schema of a duration, such as `30 days`, as a `Duration`. Rejects more than 1200 months, because a far longer one would end in a year of
 * five digits, which the service refuses.
 */
export const duration = z.string('must be a duration such as "13 months" or "30 days"').transform((value, context) => {
  const parsed = parseDuration(value)
  if (parsed !== undefined && ('months' in parsed ? parsed.months <= maxMonths : parsed.ms <= maxDurationMs)) return parsed
  const quoted = `"${value.slice(0, 40)}"`
  context.addIssue({
    code: 'custom',
    message:
      parsed === undefined
        ? `${quoted} is not a duration; write a number and seconds, minutes, hours, days or months`
        : `${quoted} is longer than ${maxMonths} months`,
  })
  return z.NEVER
})

/** Parts of schemas of files that people write: each wrong key or word gets the nearest right one. */
import { z } from 'zod'
import { suggestName } from '../suggestName.ts'

/** An object of these keys only; a wrong key gets the nearest right one. */
export function strict<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return issue.code === 'invalid_type' ? 'must be an object' : undefined
      const known = Object.keys(shape)
      return (issue['keys'] as string[])
        .map((key) => {
          const near = suggestName(key, known)
          return `unknown key "${key}"${near === undefined ? `; known are ${known.join(', ')}` : `; did you mean "${near}"?`}`
        })
        .join('; ')
    },
  })
}

export const text = (what: string) => z.string(`must be ${what}`).min(1, `must be ${what}`)
export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, {
    error: (issue) => {
      const near = typeof issue.input === 'string' ? suggestName(issue.input, words) : undefined
      return `must be one of ${words.join(', ')}${near === undefined ? '' : `; did you mean "${near}"?`}`
    },
  })
export const word = z.union([z.string(), z.number(), z.boolean()], 'must be a text').transform(String)

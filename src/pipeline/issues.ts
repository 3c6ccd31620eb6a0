/** Converts issues of zod to problems with a path and a message. */
import type { z } from 'zod'
import { isPlainRecord, isRecord } from '../unknownValue.ts'

/** Problem at one place of the input. `path`: keys and indexes from the top. */
export interface FlatIssue {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/**
 * Converts issues of zod to problems: one for each issue or unknown key. Of a union, keeps the issues of the branch that fits the input
 * best. `base`: path of the input.
 */
export function flattenIssues(issues: readonly z.core.$ZodIssue[], input: unknown, base: readonly (string | number)[] = []): FlatIssue[] {
  return issues.flatMap((issue): FlatIssue[] => {
    const path = [...base, ...issue.path.map(part)]
    if (issue.code === 'unrecognized_keys') {
      const messages = issue.message.split('; unknown key ')
      return issue.keys.map((key, index) => ({
        path: [...path, key],
        message: index === 0 ? (messages[0] ?? issue.message) : `unknown key ${messages[index] ?? `"${key}"`}`,
      }))
    }
    if (path.length > 0 && issue.code !== 'custom' && valueAt(input, path) === undefined)
      return [{ path, message: `is missing: it ${issue.message === 'Invalid input' ? 'is required' : issue.message}` }]
    if (issue.code !== 'invalid_union' || issue.errors.length === 0)
      return [{ path, message: issue.message === 'Invalid input' ? 'is not valid' : issue.message }]
    const value = valueAt(input, path)
    const branches = issue.errors.map((errors) => flattenIssues(errors, input, path)).filter((branch) => branch.length > 0)
    const fitting =
      isPlainRecord(value) || Array.isArray(value)
        ? branches.filter(
            (branch) =>
              branch.some(({ path: at }) => at.length > path.length) ||
              branch.every(({ message }) => message.startsWith('unknown key') || message.startsWith('needs')),
          )
        : []
    const best = fitting.sort((a, b) => a.length - b.length)[0]
    return best ?? [{ path, message: issue.message === 'Invalid input' ? 'is not valid' : issue.message }]
  })
}

function valueAt(input: unknown, path: readonly (string | number)[]): unknown {
  let value = input
  for (const step of path) value = isRecord(value) ? value[step] : undefined
  return value
}

/** Converts a step of a path of zod to a text or number. The types of zod also permit symbols. */
export function part(step: PropertyKey): string | number {
  return typeof step === 'number' ? step : String(step)
}

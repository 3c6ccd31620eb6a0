/** Problems of pipeline files and of sluice.yaml. Converts issues of zod to problems, adds their lines, and makes one error of them. */
import path from 'node:path'
import type { z } from 'zod'
import { ConfigError, type Problem } from '../errors.ts'
import { storableText } from '../storableText.ts'
import { isPlainRecord, isRecord } from '../unknownValue.ts'

/** Keys and indexes from the top of a file to a value. */
export type ValuePath = readonly (string | number)[]

/** Returns the line of the value at a path, or of the nearest value that contains it. Undefined if lines are not known. */
export type LineOf = (parts: ValuePath) => number | undefined

/** Problem with the parts of its path, by which the loader finds the line. */
export interface PathProblem extends Problem {
  readonly parts: ValuePath
}

/** Returns a problem of the value at a path. Messages show the path as `markets.de.join` or `source[1].url`. */
export function problemAt(parts: ValuePath, message: string, hint?: string): PathProblem {
  const text = parts.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('')
  return { parts, path: text, message, ...(hint === undefined ? {} : { hint }) }
}

/** Returns the problems with the file and line of their values. */
export function withLines(problems: readonly PathProblem[], file: string, lineOf: LineOf): Problem[] {
  return problems.map(({ parts, ...problem }) => {
    const line = lineOf(parts)
    return { ...problem, where: line === undefined ? file : `${file}:${line}` }
  })
}

/** Returns the error for an invalid file. Its message has the first problem, in a form that Postgres can store. */
export function invalidFileError(
  code: 'PIPELINE_INVALID' | 'PROJECT_INVALID',
  file: string,
  problems: readonly Problem[],
  where = file,
): ConfigError {
  const [first] = problems
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  const message = `${first?.path === '' || first === undefined ? '' : `${first.path} `}${first?.message ?? 'is not valid'}${more}`
  return new ConfigError(code, storableText(message), problems, {
    where,
    hint: storableText(first?.hint ?? `Correct ${path.basename(file)}; nothing was read or sent.`),
  })
}

/**
 * Converts issues of zod to problems: one for each issue or unknown key. For a union, returns the problems of the branch that fits the
 * input best. `basePath`: path of the checked value in `input`.
 */
export function problemsOfIssues(issues: readonly z.core.$ZodIssue[], input: unknown, basePath: ValuePath = []): PathProblem[] {
  return issues.flatMap((issue): PathProblem[] => {
    // The types of zod also permit symbols.
    const at = [...basePath, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))]
    if (issue.code === 'unrecognized_keys') {
      // `strict` (settings/values.ts) joins the messages of all unknown keys.
      const messages = issue.message.split('; unknown key ')
      return issue.keys.map((key, index) =>
        problemAt([...at, key], index === 0 ? (messages[0] ?? issue.message) : `unknown key ${messages[index] ?? `"${key}"`}`),
      )
    }
    const value = valueAt(input, at)
    if (at.length > 0 && issue.code !== 'custom' && value === undefined)
      return [problemAt(at, `is missing: it ${issue.message === 'Invalid input' ? 'is required' : issue.message}`)]
    const branch = issue.code === 'invalid_union' ? problemsOfBestBranch(issue, input, at) : undefined
    return branch ?? [problemAt(at, issue.message === 'Invalid input' ? 'is not valid' : issue.message)]
  })
}

/**
 * Returns the problems of the branch of a union that fits the form of the value. If several fit, chooses the one with the fewest problems.
 * Undefined if none fits.
 */
function problemsOfBestBranch(union: z.core.$ZodIssueInvalidUnion, input: unknown, at: ValuePath): PathProblem[] | undefined {
  const value = valueAt(input, at)
  if (!isPlainRecord(value) && !Array.isArray(value)) return undefined
  return union.errors
    .map((errors) => problemsOfIssues(errors, input, at))
    .filter(
      (branch) =>
        branch.some(({ parts }) => parts.length > at.length) ||
        (branch.length > 0 && branch.every(({ message }) => message.startsWith('unknown key') || message.startsWith('needs'))),
    )
    .sort((a, b) => a.length - b.length)[0]
}

function valueAt(input: unknown, parts: ValuePath): unknown {
  let value = input
  for (const step of parts) value = isRecord(value) ? value[step] : undefined
  return value
}

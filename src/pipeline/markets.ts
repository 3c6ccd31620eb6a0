/** Resolves `markets`: one pipeline file for several destinations. Each market becomes a pipeline, named FILE-MARKET. */
import { isPlainRecord } from '../unknownValue.ts'
import { flattenIssues } from './issues.ts'
import { pathText, resolvePipeline, type PathProblem } from './resolve.ts'
import { marketsSchema } from './schema.ts'
import type { Pipeline } from '../model/pipeline.ts'

export type ResolvedFile =
  | { readonly pipelines: readonly Pipeline[]; readonly problems: readonly [] }
  | { readonly pipelines?: undefined; readonly problems: readonly PathProblem[] }

/** Resolves a file to its pipelines: one, or one for each market. `code`: as for `resolvePipeline`. */
export function resolveFile(input: unknown, name: string, file: string, code = ''): ResolvedFile {
  if (!isPlainRecord(input) || !isPlainRecord(input['markets'])) {
    const { pipeline, problems } = resolvePipeline(input, name, file, code)
    return pipeline === undefined ? { problems } : { pipelines: [pipeline], problems: [] }
  }
  const { markets, ...base } = input
  const shape = marketsSchema.safeParse({ markets })
  const wrong = shape.success ? [] : flattenIssues(shape.error.issues, { markets }).map(({ path, message }) => problemAt(path, message))
  if (base['destination'] !== undefined) wrong.push(problemAt(['destination'], 'belongs to each market, not beside markets'))
  if (wrong.length > 0) return { problems: wrong }
  const pipelines: Pipeline[] = []
  const problems = new Map<string, PathProblem>()
  for (const [market, settings] of Object.entries(markets)) {
    const resolved = resolveMarket(base, [market, settings], name, file, code)
    if (resolved.pipeline !== undefined) pipelines.push(resolved.pipeline)
    // A problem of the shared settings occurs in each market, and is reported once.
    for (const problem of resolved.problems) problems.set(`${problem.path} ${problem.message}`, problem)
  }
  return problems.size === 0 ? { pipelines, problems: [] } : { problems: [...problems.values()] }
}

type Settings = Readonly<Record<string, unknown>>

function resolveMarket(
  base: Settings,
  [market, settings]: readonly [string, unknown],
  name: string,
  file: string,
  code: string,
): ReturnType<typeof resolvePipeline> {
  const { join, guards, options, ...own } = isPlainRecord(settings) ? settings : {}
  const source = base['source']
  if (join !== undefined && (Array.isArray(source) || (isPlainRecord(source) && source['join'] !== undefined)))
    return { problems: [problemAt(['markets', market, 'join'], 'needs one source without a join of its own')] }
  const whole = {
    ...base,
    ...own,
    ...mergeSettings('guards', base['guards'], guards),
    ...mergeSettings('options', base['options'], options),
    ...(join === undefined ? {} : { source: { ...(isPlainRecord(source) ? source : { url: source }), join } }),
  }
  return resolvePipeline(whole, `${name}-${market}`, file, code)
}

/** Merges the settings of a market over those of the file. Returns an empty object if neither has any. */
function mergeSettings(key: string, base: unknown, own: unknown): Settings {
  if (base === undefined && own === undefined) return {}
  return { [key]: { ...(isPlainRecord(base) ? base : {}), ...(isPlainRecord(own) ? own : {}) } }
}

function problemAt(parts: PathProblem['parts'], message: string): PathProblem {
  return { parts, path: pathText(parts), message }
}

/** Resolves `markets`: one pipeline file for several destinations. Each market becomes a pipeline, named FILE-MARKET. */
import { isPlainRecord } from '../unknownValue.ts'
import { problemsOfIssues, problemAt, type PathProblem } from './problems.ts'
import { resolvePipeline, type Resolved } from './resolve.ts'
import { marketsSchema } from './schema.ts'
import type { Pipeline } from '../model/pipeline.ts'

/** Pipelines of a file, or all its problems. */
export type ResolvedFile =
  | { readonly pipelines: readonly Pipeline[]; readonly problems: readonly [] }
  | { readonly pipelines?: undefined; readonly problems: readonly PathProblem[] }

/** Resolves a parsed file to its pipelines: one, or one for each market. `name`: name of the file without its ending. */
export function resolveFile(input: unknown, name: string, file: string, codeVersion = ''): ResolvedFile {
  if (!isPlainRecord(input) || !isPlainRecord(input['markets'])) {
    const { pipeline, problems } = resolvePipeline(input, name, file, codeVersion)
    return pipeline === undefined ? { problems } : { pipelines: [pipeline], problems: [] }
  }
  const { markets, ...shared } = input
  const shape = marketsSchema.safeParse({ markets })
  const formProblems = shape.success ? [] : problemsOfIssues(shape.error.issues, { markets })
  if (shared['destination'] !== undefined) formProblems.push(problemAt(['destination'], 'belongs to each market, not beside markets'))
  if (formProblems.length > 0) return { problems: formProblems }
  const pipelines: Pipeline[] = []
  const problems = new Map<string, PathProblem>()
  for (const [market, settings] of Object.entries(markets)) {
    const resolved = resolveMarket(shared, market, isPlainRecord(settings) ? settings : {}, (merged) =>
      resolvePipeline(merged, `${name}-${market}`, file, codeVersion),
    )
    if (resolved.pipeline !== undefined) pipelines.push(resolved.pipeline)
    // A problem of the shared settings occurs in each market, and is reported once.
    for (const problem of resolved.problems) problems.set(`${problem.path} ${problem.message}`, problem)
  }
  return problems.size === 0 ? { pipelines, problems: [] } : { problems: [...problems.values()] }
}

type Settings = Readonly<Record<string, unknown>>

/** Merges the settings of a market over those beside `markets` (`shared`), and passes the result to `resolve`. */
function resolveMarket(shared: Settings, market: string, given: Settings, resolve: (merged: Settings) => Resolved): Resolved {
  const { join, guards, options, ...own } = given
  const source = shared['source']
  if (join !== undefined && (Array.isArray(source) || (isPlainRecord(source) && source['join'] !== undefined)))
    return { problems: [problemAt(['markets', market, 'join'], 'needs one source without a join of its own')] }
  const merged = {
    ...shared,
    ...own,
    ...mergeSettings('guards', shared['guards'], guards),
    ...mergeSettings('options', shared['options'], options),
    ...(join === undefined ? {} : { source: { ...(isPlainRecord(source) ? source : { url: source }), join } }),
  }
  const resolved = resolve(merged)
  if (resolved.pipeline !== undefined) return resolved
  return { problems: resolved.problems.map((problem) => inMarket(problem, market, given)) }
}

/**
 * Merges `guards` or `options` of a market over the shared ones. Returns an empty object if neither is set. If the shared value is not an
 * object, returns that value, so that `resolvePipeline` reports it. Otherwise every market would run with the default values.
 */
function mergeSettings(key: string, shared: unknown, own: unknown): Settings {
  if (shared === undefined && own === undefined) return {}
  if (shared !== undefined && !isPlainRecord(shared)) return { [key]: shared }
  return { [key]: { ...shared, ...(isPlainRecord(own) ? own : {}) } }
}

/** Returns the problem with its path in the file: inside the market if the market has the setting, else beside `markets`. */
function inMarket(problem: PathProblem, market: string, given: Settings): PathProblem {
  const [firstStep = '', ...rest] = problem.parts
  const pathInMarket = firstStep === 'source' && rest[0] === 'join' && given['join'] !== undefined ? rest : problem.parts
  const [setting = '', key = ''] = pathInMarket
  const own = given[setting]
  // Guards and options are merged key by key. Their problem is in the market only if the market sets the key.
  const isOwn = setting === 'guards' || setting === 'options' ? isPlainRecord(own) && own[key] !== undefined : own !== undefined
  if (!isOwn) return problem
  return problemAt(['markets', market, ...pathInMarket], problem.message, problem.hint)
}

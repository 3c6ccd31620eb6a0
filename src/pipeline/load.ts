/** Pipeline files of a directory: found, parsed, checked, with every problem at its line. */
import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { LineCounter, parseDocument, type Document } from 'yaml'
import { ConfigError, UsageError, type Problem } from '../errors.ts'
import { nearest } from '../records/closeness.ts'
import type { DestinationDefinition, Pipeline } from './definition.ts'
import { importPipeline } from './importPipeline.ts'
import { resolvePipeline, type PathProblem } from './resolve.ts'

const endings = ['.ts', '.mts', '.yaml', '.yml', '.json']
const maxBytes = 10 * 1024 * 1024

export interface LoadedPipelines {
  /** Sorted by name. */
  readonly pipelines: readonly Pipeline[]
  /** One for each file that is wrong; the others are usable. */
  readonly errors: readonly ConfigError[]
  /** Right by themselves, but with a destination that another file writes to as well; `errors` has one for each. */
  readonly rivals: readonly Pipeline[]
  /** Of every file, right or wrong, sorted. */
  readonly names: readonly string[]
}

/** @throws {UsageError} PIPELINES_MISSING where the directory cannot be read */
export async function loadPipelines(directory: string): Promise<LoadedPipelines> {
  const files = await pipelineFiles(directory)
  const loaded: Pipeline[] = []
  const errors: ConfigError[] = []
  for (const file of files) {
    try {
      const pipeline = await loadFile(path.join(directory, file))
      const twin = loaded.find((other) => other.name === pipeline.name)
      if (twin !== undefined) throw configError(file, [{ path: '', message: `${twin.file} has the same name`, where: pipeline.file }])
      loaded.push(pipeline)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      errors.push(error)
    }
  }
  const rivals = loaded.filter((pipeline) => rivalOf(pipeline, loaded) !== undefined)
  for (const pipeline of rivals) errors.push(rivalError(pipeline, rivalOf(pipeline, loaded)?.file ?? ''))
  return {
    // Files are sorted with their endings: shop-de.yaml before shop.yaml.
    pipelines: loaded.filter((pipeline) => !rivals.includes(pipeline)).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    errors,
    rivals,
    names: [...new Set(files.map(nameOf))].sort(),
  }
}

/** Each of the two is refused: which of them is meant to write there, no order of names can tell. */
function rivalOf(pipeline: Pipeline, all: readonly Pipeline[]): Pipeline | undefined {
  return all.find((other) => other !== pipeline && identityOf(other.destination) === identityOf(pipeline.destination))
}

function rivalError(pipeline: Pipeline, rival: string): ConfigError {
  return configError(path.basename(pipeline.file), [
    {
      path: 'destination',
      message: `${rival} writes to the same destination: each would delete what the other sends`,
      mend: 'Put both sources into one pipeline (source: as a list), use another destination, or move one file out of the folder.',
      where: pipeline.file,
    },
  ])
}

/**
 * The pipelines that names or globs (`shop-*`) pick, in the order of their names; all without patterns.
 *
 * @throws {UsageError} UNKNOWN_PIPELINE with the nearest name; {ConfigError} where a picked file is wrong
 */
export async function selectPipelines(directory: string, patterns: readonly string[]): Promise<readonly Pipeline[]> {
  const { pipelines, errors } = await pick(directory, patterns)
  throwAll(directory, errors)
  return pipelines
}

/**
 * As `selectPipelines`, but rivals for one destination come along with what is against them, for `sluice check` to show.
 *
 * @throws as `selectPipelines`
 */
export async function selectWithRivals(
  directory: string,
  patterns: readonly string[],
): Promise<{ readonly pipelines: readonly Pipeline[]; readonly errors: readonly ConfigError[] }> {
  const { pipelines, rivals, errors } = await pick(directory, patterns)
  const names = new Set(rivals.map(({ name }) => name))
  const ofRivals = (error: ConfigError) => names.has(nameOf(path.basename(error.where ?? '')))
  throwAll(
    directory,
    errors.filter((error) => !ofRivals(error)),
  )
  return {
    pipelines: [...pipelines, ...rivals].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    errors: errors.filter(ofRivals),
  }
}

async function pick(directory: string, patterns: readonly string[]): Promise<LoadedPipelines> {
  const { pipelines, errors, rivals, names } = await loadPipelines(directory)
  const broken = new Map(errors.map((error) => [nameOf(path.basename(error.where ?? '')), error]))
  const picked = new Set<string>()
  for (const pattern of patterns.length === 0 ? ['*'] : patterns) {
    const found = names.filter((name) => name === pattern || path.matchesGlob(name, pattern))
    if (found.length === 0 && pattern !== '*') throw unknownPipeline(pattern, directory, names)
    for (const name of found) picked.add(name)
  }
  return {
    pipelines: pipelines.filter(({ name }) => picked.has(name)),
    errors: [...broken].filter(([name]) => picked.has(name)).map(([, error]) => error),
    rivals: rivals.filter(({ name }) => picked.has(name)),
    names,
  }
}

function throwAll(directory: string, faults: readonly ConfigError[]): void {
  if (faults.length === 1 && faults[0] !== undefined) throw faults[0]
  if (faults.length > 1)
    throw new ConfigError(
      'PIPELINE_INVALID',
      `${faults.length} pipeline files are wrong`,
      faults.flatMap(({ problems }) => problems),
      { where: directory, mend: 'Correct the files; sluice check shows every problem.' },
    )
}

/** One pipeline by name. @throws as `selectPipelines` */
export async function loadPipeline(directory: string, name: string): Promise<Pipeline> {
  const [pipeline, more] = await selectPipelines(directory, [name])
  if (pipeline === undefined) throw unknownPipeline(name, directory, [])
  if (more !== undefined)
    throw new UsageError('SEVERAL_PIPELINES', `"${name}" names several pipelines, one is needed`, {
      where: directory,
      mend: `Name one of them, for example ${pipeline.name}.`,
    })
  return pipeline
}

/** One file, wherever it is. @throws {ConfigError} PIPELINE_INVALID with every problem */
export async function loadFile(file: string): Promise<Pipeline> {
  const name = nameOf(path.basename(file))
  const { input, lineOf, code } = await readInput(file)
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name))
    throw configError(file, [{ path: '', message: 'the file name must be letters, digits, - and _', where: file }])
  const { pipeline, problems } = resolvePipeline(input, name, file, code)
  if (pipeline !== undefined) return pipeline
  throw configError(
    file,
    problems.map((problem) => located(problem, file, lineOf)),
  )
}

function located(problem: PathProblem, file: string, lineOf: (parts: readonly (string | number)[]) => number | undefined): Problem {
  const { parts, ...rest } = problem
  const line = lineOf(parts)
  return { ...rest, where: line === undefined ? file : `${file}:${line}` }
}

function configError(file: string, problems: readonly Problem[]): ConfigError {
  const [first] = problems
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  return new ConfigError(
    'PIPELINE_INVALID',
    `${first?.path === '' || first === undefined ? '' : `${first.path} `}${first?.message ?? 'is not valid'}${more}`,
    problems,
    { where: file, mend: first?.mend ?? `Correct ${path.basename(file)}; nothing was read or sent.` },
  )
}

async function pipelineFiles(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true })
    return entries
      .filter(
        (entry) =>
          !entry.isDirectory() &&
          endings.some((ending) => entry.name.endsWith(ending)) &&
          !entry.name.startsWith('.') &&
          !/\.(?:d|test)\.m?ts$/.test(entry.name),
      )
      .map(({ name }) => name)
      .sort()
  } catch (error) {
    throw new UsageError('PIPELINES_MISSING', `the directory of pipelines cannot be read: ${directory}`, {
      where: directory,
      mend: 'sluice init --source FILE   (makes it, with a first pipeline), or name another with --pipelines',
      cause: error,
    })
  }
}

type LineOf = (parts: readonly (string | number)[]) => number | undefined

async function readInput(file: string): Promise<{ input: unknown; lineOf: LineOf; code?: string }> {
  try {
    const { size } = await stat(file)
    if (size > maxBytes) throw configError(file, [{ path: '', message: 'is larger than 10 MB', where: file }])
    if (/\.m?ts$/.test(file)) return { ...(await importPipeline(file)), lineOf: () => undefined }
    const text = (await readFile(file, 'utf8')).replace(/^\ufeff/, '')
    return file.endsWith('.json') ? readJson(text, file) : readYaml(text, file)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw configError(file, [
      { path: '', message: `cannot be loaded: ${error instanceof Error ? error.message : String(error)}`, where: file },
    ])
  }
}

function readYaml(text: string, file: string): { input: unknown; lineOf: LineOf } {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true })
  if (document.errors.length > 0) {
    throw configError(
      file,
      document.errors.map((error) => ({ path: '', message: error.message, where: `${file}:${lines.linePos(error.pos[0]).line}` })),
    )
  }
  return { input: document.toJS({ maxAliasCount: 20 }), lineOf: (parts) => lineIn(document, lines, parts) }
}

function readJson(text: string, file: string): { input: unknown; lineOf: LineOf } {
  try {
    const input: unknown = JSON.parse(text)
    const lines = new LineCounter()
    // JSON is YAML: the document knows where each value stands, and that a key stands twice.
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
    const twice = document.errors.find(({ code }) => code === 'DUPLICATE_KEY')
    if (twice !== undefined)
      throw configError(file, [{ path: '', message: twice.message, where: `${file}:${lines.linePos(twice.pos[0]).line}` }])
    return { input, lineOf: (parts) => lineIn(document, lines, parts) }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const at = /line (\d+)/.exec(error.message)?.[1]
    throw configError(file, [
      {
        path: '',
        message: `is no JSON: ${error.message.replace(/"[^"]*"\.\.\. /g, '')}`,
        where: at === undefined ? file : `${file}:${at}`,
      },
    ])
  }
}

/** Line of the nearest thing on the path that is there. */
function lineIn(document: Document, lines: LineCounter, parts: readonly (string | number)[]): number | undefined {
  for (let length = parts.length; length > 0; length--) {
    const node: unknown = document.getIn(parts.slice(0, length), true)
    const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : undefined
    if (Array.isArray(range) && typeof range[0] === 'number') return lines.linePos(range[0]).line
  }
  return 1
}

function nameOf(file: string): string {
  const ending = endings.find((one) => file.endsWith(one)) ?? ''
  return file.slice(0, file.length - ending.length)
}

function unknownPipeline(pattern: string, directory: string, names: readonly string[]): UsageError {
  const near = nearest(pattern, names)
  const list = names.length === 0 ? 'There is none yet: put a pipeline file into it.' : `There are ${names.slice(0, 10).join(', ')}.`
  return new UsageError('UNKNOWN_PIPELINE', `no "${pattern}" in ${directory}. Nothing was read or sent.`, {
    where: directory,
    mend: near === undefined ? list : `Did you mean ${near}?`,
  })
}

function identityOf(destination: DestinationDefinition): string {
  if (destination.kind === 'catalog') return `catalog ${destination.catalogId}`
  return destination.kind === 'audience'
    ? `audience ${destination.accountId} ${destination.audienceId}`
    : `do-not-reach ${destination.accountId} ${destination.listId}`
}

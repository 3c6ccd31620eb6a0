/** Loads the pipeline files of a directory: finds, parses and checks them, and reports every problem with its line. */
import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { ConfigError, UsageError, type Problem } from '../errors.ts'
import { suggestName } from '../suggestName.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { redactPersonalData } from '../mapping/redactPersonalData.ts'
import { importPipeline } from './importPipeline.ts'
import { readProjectFile, withDefaults, type ProjectFile } from './projectFile.ts'
import { readJson, readYaml } from './readDocument.ts'
import { pipelineFiles, pipelineNameOf } from './files.ts'
import { resolveFile } from './markets.ts'
import { invalidFileError, problemAt, withLines, type LineOf, type PathProblem, type ValuePath } from './problems.ts'
import { createFileCache } from './fileCache.ts'
import { expandVariables, retypeTextsAt, type Variables } from './variables.ts'
import { destinationOf } from '../destinations/index.ts'

const maxBytes = 10 * 1024 * 1024
const fileCache = createFileCache<readonly Pipeline[]>()

/** Pipelines of a folder, with the errors of its files. */
export interface LoadedPipelines {
  /** Valid pipelines without a conflict, sorted by name. If two files have a pipeline of one name, contains the one of the first file. */
  readonly pipelines: readonly Pipeline[]
  /** One error for each invalid file and for each conflicting pipeline. All other pipelines are usable. */
  readonly errors: readonly ConfigError[]
  /** Valid pipelines with a destination that another pipeline writes to. `errors` has an error for each. */
  readonly conflicting: readonly Pipeline[]
  /** Names of all pipelines and of invalid files, sorted. */
  readonly names: readonly string[]
  /** Names of the pipelines of each valid file, by the file's name without its ending. Several names if the file has markets. */
  readonly byFile: ReadonlyMap<string, readonly string[]>
  /** Error by name of an invalid file, of a conflicting pipeline, or of a pipeline that two files have. */
  readonly broken: ReadonlyMap<string, ConfigError>
}

/**
 * Loads every pipeline file of a folder. Applies the defaults of `sluice.yaml`, and replaces `${NAME}` by `variables`.
 *
 * @throws {UsageError} PIPELINES_MISSING if the directory cannot be read; {ConfigError} PROJECT_INVALID
 */
export async function loadPipelines(directory: string, variables: Variables = {}): Promise<LoadedPipelines> {
  const files = await pipelineFiles(directory)
  const project = await readProjectFile(directory, variables)
  const loaded = new Map<string, Pipeline>()
  const byFile = new Map<string, readonly string[]>()
  const errors: ConfigError[] = []
  /** Error by name of a pipeline that two files have. Either may be wrong. `broken` gets the error too, so neither pipeline runs. */
  const ambiguous = new Map<string, ConfigError>()
  const otherInputs = JSON.stringify([variables, project])
  for (const file of files) {
    try {
      const filePath = path.join(directory, file)
      const load = () => loadFile(filePath, { variables, project })
      // A TypeScript file is loaded each time, because the modules that it imports may have changed.
      const pipelinesOfFile = isCode(file) ? await load() : await fileCache.get(filePath, otherInputs, load)
      const sameName = pipelinesOfFile.map(({ name }) => loaded.get(name)).find((other) => other !== undefined)
      if (sameName !== undefined) {
        const error = unusableFileError(filePath, `${sameName.file} has a pipeline of the same name (${sameName.name})`)
        ambiguous.set(sameName.name, error)
        throw error
      }
      for (const pipeline of pipelinesOfFile) loaded.set(pipeline.name, pipeline)
      byFile.set(pipelineNameOf(file), [...(byFile.get(pipelineNameOf(file)) ?? []), ...pipelinesOfFile.map(({ name }) => name)])
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      errors.push(error)
    }
  }
  const broken = new Map([...ambiguous, ...errors.map((error) => [pipelineNameOf(path.basename(error.where ?? '')), error] as const)])
  const conflicts = conflictsOf([...loaded.values()])
  const conflicting = [...conflicts.keys()]
  const suppressing = [...loaded.values()].filter(({ destination }) => destinationOf(destination.kind).suppresses)
  for (const [pipeline, other] of conflicts) {
    const error = conflictError(pipeline, other.file)
    errors.push(error)
    // By the name of the pipeline and not of its file, because other markets of the file are usable.
    broken.set(pipeline.name, error)
  }
  return {
    // Sorted again, because files are sorted with their endings: shop-de.yaml before shop.yaml.
    pipelines: sortedByName([...loaded.values()])
      .filter((pipeline) => !conflicts.has(pipeline))
      .map((pipeline) => withSuppressing(pipeline, suppressing)),
    errors,
    conflicting,
    names: [...new Set(files.flatMap((file) => byFile.get(pipelineNameOf(file)) ?? [pipelineNameOf(file)]))].sort(),
    byFile,
    broken,
  }
}

/**
 * Returns the pipeline with the do-not-reach pipelines of its account and credentials in `suppressedBy`. Returns `pipeline` unchanged if
 * there are none, or if its destination ignores do-not-reach lists. `suppressing`: all do-not-reach pipelines.
 */
function withSuppressing(pipeline: Pipeline, suppressing: readonly Pipeline[]): Pipeline {
  const type = destinationOf(pipeline.destination.kind)
  if (suppressing.length === 0 || !type.appliesSuppression(pipeline.destination)) return pipeline
  const { accountId } = type.identity(pipeline.destination)
  const suppressedBy = suppressing.flatMap(({ name, credentials, destination }) => {
    const list = destinationOf(destination.kind).identity(destination)
    return list.accountId === accountId && credentials === pipeline.credentials ? [{ name, targetId: list.targetId }] : []
  })
  return suppressedBy.length === 0 ? pipeline : { ...pipeline, suppressedBy }
}

function sortedByName(pipelines: readonly Pipeline[]): Pipeline[] {
  return pipelines.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Maps each pipeline to another one with the same destination, if there is one. Either may be wrong, so both are rejected. */
function conflictsOf(pipelines: readonly Pipeline[]): ReadonlyMap<Pipeline, Pipeline> {
  const destinationKey = ({ credentials, destination }: Pipeline) => {
    const { accountId, targetId } = destinationOf(destination.kind).identity(destination)
    return JSON.stringify([credentials, destination.kind, accountId, targetId])
  }
  const byDestination = Map.groupBy(pipelines, destinationKey)
  const pairs = pipelines.map((pipeline) => {
    const writers = byDestination.get(destinationKey(pipeline))
    return [pipeline, writers?.find((other) => other !== pipeline)] as const
  })
  return new Map(pairs.filter((pair): pair is readonly [Pipeline, Pipeline] => pair[1] !== undefined))
}

function conflictError(pipeline: Pipeline, otherFile: string): ConfigError {
  return invalidPipelineError(pipeline.file, [
    {
      path: 'destination',
      message: `${otherFile} writes to the same destination: each would delete what the other sends`,
      hint: 'Put both sources into one pipeline (source: as a list), use another destination, or move one file out of the folder.',
      where: pipeline.file,
    },
  ])
}

/**
 * Returns the pipelines that match the names or globs (`shop-*`), sorted by name; without patterns, all.
 *
 * @throws {UsageError} UNKNOWN_PIPELINE with a suggested name; {ConfigError} if a selected pipeline is invalid or has a conflict
 */
export async function selectPipelines(
  directory: string,
  patterns: readonly string[],
  variables: Variables = {},
): Promise<readonly Pipeline[]> {
  const { pipelines, errors } = await loadMatching(directory, patterns, variables)
  throwAll(directory, errors)
  return pipelines
}

/**
 * Returns the same as `selectPipelines`, and also pipelines with a conflicting destination. `errors` has an error for each pipeline with a
 * conflict.
 *
 * @throws as `selectPipelines`, except for a conflict
 */
export async function selectWithConflicts(
  directory: string,
  patterns: readonly string[],
  variables: Variables = {},
): Promise<{ readonly pipelines: readonly Pipeline[]; readonly errors: readonly ConfigError[] }> {
  const { pipelines, conflicting, broken } = await loadMatching(directory, patterns, variables)
  const conflictingNames = new Set(conflicting.map(({ name }) => name))
  const errorsOf = (isConflict: boolean) =>
    [...broken].filter(([name]) => conflictingNames.has(name) === isConflict).map(([, error]) => error)
  throwAll(directory, errorsOf(false))
  return { pipelines: sortedByName([...pipelines, ...conflicting]), errors: errorsOf(true) }
}

/**
 * Returns the pipelines that match the names or globs, also those with a conflicting destination. `invalid`: error by name of each matching
 * pipeline whose file is invalid.
 *
 * @throws {UsageError} UNKNOWN_PIPELINE
 */
export async function selectWithInvalid(
  directory: string,
  patterns: readonly string[],
  variables: Variables = {},
): Promise<{ readonly pipelines: readonly Pipeline[]; readonly invalid: ReadonlyMap<string, ConfigError> }> {
  const { pipelines, conflicting, broken } = await loadMatching(directory, patterns, variables)
  const usable = sortedByName([...pipelines, ...conflicting])
  const names = new Set(usable.map(({ name }) => name))
  return { pipelines: usable, invalid: new Map([...broken].filter(([name]) => !names.has(name))) }
}

/**
 * Loads the folder. Returns only the pipelines and errors with a name that matches a pattern; `names` and `byFile` are those of the folder.
 *
 * @throws {UsageError} UNKNOWN_PIPELINE
 */
async function loadMatching(directory: string, patterns: readonly string[], variables: Variables): Promise<LoadedPipelines> {
  const { pipelines, conflicting, names, byFile, broken } = await loadPipelines(directory, variables)
  const picked = new Set<string>()
  for (const pattern of patterns.length === 0 ? ['*'] : patterns) {
    // The name of a file with markets matches all of its pipelines.
    const namesOfFile = byFile.get(pattern) ?? []
    const matches = names.filter((name) => name === pattern || namesOfFile.includes(name) || path.matchesGlob(name, pattern))
    if (matches.length === 0 && pattern !== '*') throw unknownPipelineError(pattern, directory, names)
    for (const name of matches) picked.add(name)
  }
  const pickedErrors = new Map([...broken].filter(([name]) => picked.has(name)))
  return {
    pipelines: pipelines.filter(({ name }) => picked.has(name)),
    errors: [...pickedErrors.values()],
    conflicting: conflicting.filter(({ name }) => picked.has(name)),
    names,
    byFile,
    broken: pickedErrors,
  }
}

/** Throws the only error, or one error with the problems of all errors. Does nothing without errors. `given`: may repeat an error. */
function throwAll(directory: string, given: readonly ConfigError[]): void {
  const errors = [...new Set(given)]
  if (errors.length === 1 && errors[0] !== undefined) throw errors[0]
  if (errors.length > 1)
    throw new ConfigError(
      'PIPELINE_INVALID',
      `${errors.length} pipelines are invalid`,
      errors.flatMap(({ problems }) => problems),
      { where: directory, hint: 'Correct the files; sluice check shows every problem.' },
    )
}

/**
 * Loads one pipeline by its name. The name may come from a request, so a pattern is rejected.
 *
 * @throws as `selectPipelines`; {UsageError} SEVERAL_PIPELINES for the name of a file with several markets
 */
export async function loadPipeline(directory: string, name: string, variables: Variables = {}): Promise<Pipeline> {
  if (!/^[\w.-]+$/.test(name)) throw unknownPipelineError(name, directory, (await loadPipelines(directory, variables)).names)
  const [pipeline, another] = await selectPipelines(directory, [name], variables)
  if (pipeline === undefined) throw unknownPipelineError(name, directory, [])
  if (another !== undefined)
    throw new UsageError('SEVERAL_PIPELINES', `"${name}" matches several pipelines, and one is needed`, {
      where: directory,
      hint: `Name one of them, for example ${pipeline.name}.`,
    })
  return pipeline
}

/** Values from outside of a pipeline file. Without `project`, names of credentials and alerts are not checked. */
export interface LoadOptions {
  readonly variables?: Variables
  readonly project?: Pick<ProjectFile, 'file' | 'defaults' | 'defaultReferences' | 'credentials' | 'receivers' | 'unusableCredentials'>
}

/** Loads the pipelines of one file, wherever it is. @throws {ConfigError} PIPELINE_INVALID, with every problem */
export async function loadFile(file: string, { variables = {}, project }: LoadOptions = {}): Promise<readonly Pipeline[]> {
  const name = pipelineNameOf(path.basename(file))
  const { input: written, lineOf, codeVersion } = await readInput(file)
  const expanded = expandVariables(written, variables)
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name))
    throw unusableFileError(file, 'the file name must have up to 100 letters, digits, ., - and _, and begin with a letter or digit')
  const { pipelines, problems: fileProblems } = resolveExpanded(withProjectDefaults(expanded, project), (value) =>
    resolveFile(value, name, file, codeVersion),
  )
  const unusableNames = (pipelines ?? []).flatMap((pipeline) => nameProblems(pipeline, project))
  // A value with an unresolved variable may cause further problems, of the value itself and of the fields around it. They are not reported.
  const independentProblems = [...fileProblems, ...unusableNames].filter(
    (problem) => !expanded.problems.some((unresolved) => pathsOverlap(problem.parts, unresolved.parts)),
  )
  const problems = [...expanded.problems, ...independentProblems]
  if (pipelines !== undefined && problems.length === 0) return pipelines
  throw invalidPipelineError(file, withLines(problems, file, lineOf))
}

type Expanded = Pick<ReturnType<typeof expandVariables>, 'value' | 'references'>

/** Merges the file over the defaults of sluice.yaml. Adds the references of those defaults that the file does not replace. */
function withProjectDefaults({ value, references }: Expanded, project: LoadOptions['project']): Expanded {
  if (project === undefined) return { value, references }
  const merged = withDefaults(value, project.defaults)
  const fromDefaults = project.defaultReferences.filter((path) => valueAt(merged, path) !== undefined && valueAt(value, path) === undefined)
  return { value: merged, references: [...references, ...fromDefaults] }
}

/** Returns the value at a path; undefined if there is none. */
function valueAt(value: unknown, path: ValuePath): unknown {
  return path.reduce<unknown>((part, key) => (typeof part === 'object' && part !== null ? Reflect.get(part, key) : undefined), value)
}

/**
 * Resolves a file after its variables were replaced. A variable is a text, but a setting may need a number or a boolean. So values of
 * variables that have a problem are tried again as numbers or booleans. Repeats this, because some problems show only after others are
 * solved.
 */
function resolveExpanded(
  { value, references }: Expanded,
  resolve: (value: unknown) => ReturnType<typeof resolveFile>,
): ReturnType<typeof resolveFile> {
  const hasProblemAt = ({ problems }: ReturnType<typeof resolveFile>, path: ValuePath) =>
    problems.some(({ parts }) => pathsOverlap(parts, path))
  const resolved = resolve(value)
  const rejectedReferences = references.filter((path) => hasProblemAt(resolved, path))
  if (rejectedReferences.length === 0) return resolved
  const retyped = retypeTextsAt(value, rejectedReferences)
  const resolvedAgain = resolve(retyped)
  if (rejectedReferences.every((path) => hasProblemAt(resolvedAgain, path))) return resolved
  return resolveExpanded({ value: retyped, references: references.filter((path) => !rejectedReferences.includes(path)) }, resolve)
}

function pathsOverlap(one: ValuePath, other: ValuePath): boolean {
  const shared = Math.min(one.length, other.length)
  return one.slice(0, shared).every((part, i) => part === other[i])
}

/**
 * Returns the problems of the names in `credentials` and `alerts`; none without `project`. A problem is one of these:
 * - `sluice.yaml` does not have the name.
 * - A variable of the credentials cannot be replaced, or one of their addresses is not valid.
 */
function nameProblems({ credentials, alerts = [] }: Pipeline, project: LoadOptions['project']): PathProblem[] {
  if (project === undefined) return []
  const unknownNameProblems = (key: string, name: string, known: readonly string[]): PathProblem[] => {
    if (known.includes(name)) return []
    const near = suggestName(name, known)
    const hint = near === undefined ? `add it to ${key} in ${project.file}` : `write ${near}`
    return [problemAt([key], `"${name}" is not in ${project.file}`, hint)]
  }
  const credentialsProblems = (name: string): PathProblem[] => {
    const [fault] = (Object.hasOwn(project.unusableCredentials, name) ? project.unusableCredentials[name] : undefined) ?? []
    if (fault === undefined) return unknownNameProblems('credentials', name, Object.keys(project.credentials))
    const message = `"${name}" cannot be used: ${fault.message}, for ${fault.path} of ${project.file}`
    return [problemAt(['credentials'], message, fault.hint)]
  }
  return [
    ...(credentials === undefined ? [] : credentialsProblems(credentials)),
    ...alerts.flatMap((name) => unknownNameProblems('alerts', name, Object.keys(project.receivers))),
  ]
}

function invalidPipelineError(file: string, problems: readonly Problem[]): ConfigError {
  return invalidFileError('PIPELINE_INVALID', file, problems)
}

function unusableFileError(file: string, message: string): ConfigError {
  return invalidPipelineError(file, [{ path: '', message, where: file }])
}

async function readInput(file: string): Promise<{ input: unknown; lineOf: LineOf; codeVersion?: string }> {
  try {
    const { size } = await stat(file)
    if (size > maxBytes) throw unusableFileError(file, 'is larger than 10 MB')
    if (isCode(file)) return { ...(await importPipeline(file)), lineOf: () => undefined }
    const text = (await readFile(file, 'utf8')).replace(/^\ufeff/, '')
    const toError = (problems: readonly Problem[]) => invalidPipelineError(file, problems)
    return file.endsWith('.json') ? readJson(text, file, toError) : readYaml(text, file, toError)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw unusableFileError(file, `cannot be loaded: ${redactPersonalData(error instanceof Error ? error.message : String(error))}`)
  }
}

function isCode(file: string): boolean {
  return /\.m?ts$/.test(file)
}

function unknownPipelineError(pattern: string, directory: string, names: readonly string[]): UsageError {
  const near = suggestName(pattern, names)
  const list = names.length === 0 ? 'There is none yet: put a pipeline file into it.' : `There are ${names.slice(0, 10).join(', ')}.`
  return new UsageError('UNKNOWN_PIPELINE', `no pipeline "${pattern}" in ${directory}. Nothing was read or sent.`, {
    where: directory,
    hint: near === undefined ? list : `Did you mean ${near}?`,
  })
}

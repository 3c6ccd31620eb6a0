/** Reads the pipeline files of one folder, and declares their schedules in the database. */
import { ensureDestination } from '../db/destinations.ts'
import { updateQueuedVersions } from '../db/runs/request.ts'
import { declareSchedules, type DeclaredSchedule } from '../db/schedules.ts'
import { ConfigError, UsageError } from '../errors.ts'
import type { Pipeline } from '../model/pipeline.ts'
import type { LoadedPipelines } from '../pipeline/load.ts'
import { destinationKey } from '../sync/destinationKey.ts'
import type { JobDeps } from './deps.ts'
import type { DecideTicksDeps } from './decideTicks.ts'
import { isTouchedByClockChange } from './cronTicks.ts'

/** Interval in milliseconds at which the pipeline files are read again. Shorter than 15 s, so that each poll of node-cron reads them. */
const reloadEveryMs = 14_000
/** Interval in milliseconds at which unchanged schedules are declared again. A declaration is valid longer (`declarationValidS`). */
const declareEveryMs = 28_000

/** Latest reading of the files. */
type Declared = Pick<DecideTicksDeps, 'declaration' | 'versionOf' | 'reasonOf'>

/** The pipeline files of one folder, with a cache between two readings. */
export class DeclaredFiles {
  readonly #deps: JobDeps
  /** Ids of destinations by their identity. Cached, because an id never changes and there may be thousands of destinations. */
  readonly #destinationIds = new Map<string, number>()
  /** Names of pipelines with a warning about clock changes. */
  readonly #warned = new Set<string>()
  #latest: Declared | undefined
  #readAt = Number.NEGATIVE_INFINITY
  #declaredAt = Number.NEGATIVE_INFINITY
  #declaredText = ''
  /** Message of the error that makes all files unusable; empty if there is none. */
  #unusable = ''

  constructor(deps: JobDeps) {
    this.#deps = deps
  }

  /**
   * Returns the latest reading; reads the files if it is 14 seconds old. `isDeclared`: true if this call declared the schedules, because
   * they changed or the last declaration was 28 seconds old.
   *
   * @throws {ConfigError | UsageError} if `sluice.yaml` or the folder cannot be used at the first reading
   */
  async current(): Promise<Declared & { readonly isDeclared: boolean }> {
    const { clock } = this.#deps
    if (this.#latest !== undefined && clock.monotonic() - this.#readAt < reloadEveryMs) return { ...this.#latest, isDeclared: false }
    const { pipelines, broken } = await this.#read()
    const schedules: DeclaredSchedule[] = []
    const versions = new Map<string, string>()
    for (const pipeline of pipelines) {
      const { name, schedule, version } = pipeline
      if (schedule === undefined || broken.has(name)) continue
      schedules.push({ destinationId: await this.#destinationIdOf(pipeline), pipeline: name, ...schedule })
      versions.set(name, version)
    }
    const declaration = {
      credentials: this.#deps.service.credentials,
      folder: this.#deps.folder,
      schedules,
      brokenNames: [...broken.keys()],
    }
    const text = JSON.stringify([declaration, [...versions]])
    const isDeclared = text !== this.#declaredText || clock.monotonic() - this.#declaredAt >= declareEveryMs
    if (isDeclared) {
      await this.#declare(declaration, versions)
      this.#declaredText = text
      this.#declaredAt = clock.monotonic()
    }
    this.#latest = {
      declaration,
      versionOf: (name) => versions.get(name),
      reasonOf: (name) => errorOf(broken, name)?.message ?? 'its file was removed',
    }
    this.#warnOfClockChanges(schedules)
    this.#readAt = clock.monotonic()
    return { ...this.#latest, isDeclared }
  }

  /**
   * Reads the files. `broken`: error by name of each invalid file or conflicting pipeline, whose ticks are skipped. If `sluice.yaml` or the
   * folder cannot be used, `broken` contains all scheduled pipelines of the last reading. The first reading throws instead.
   */
  async #read(): Promise<Pick<LoadedPipelines, 'pipelines' | 'broken'>> {
    try {
      const loaded = await this.#deps.loadPipelines()
      this.#unusable = ''
      return loaded
    } catch (error) {
      if (this.#latest === undefined || !(error instanceof ConfigError || error instanceof UsageError)) throw error
      const { code, where, message, hint } = error
      if (message !== this.#unusable) this.#deps.log.error({ code, where, hint }, `${message}: no schedule runs until it is corrected`)
      this.#unusable = message
      const { schedules, brokenNames } = this.#latest.declaration
      const reason = new ConfigError(code, `${where === undefined ? '' : `${where}: `}${message}`, [], { hint })
      return {
        pipelines: [],
        broken: new Map([...brokenNames, ...schedules.map(({ pipeline }) => pipeline)].map((name) => [name, reason])),
      }
    }
  }

  /** Declares the schedules, and gives queued runs of schedules the current versions of their pipelines. */
  async #declare(declaration: Declared['declaration'], versions: ReadonlyMap<string, string>): Promise<void> {
    const { db, service, clock, log } = this.#deps
    for (const pipeline of await declareSchedules(db, declaration, new Date(clock.now())))
      log.warn(
        { pipeline },
        'the last tick of this schedule was in the future, because the clock of the database was ahead: the schedule begins now',
      )
    const queuedVersions = declaration.schedules.map(({ destinationId, pipeline: name }) => ({
      destinationId,
      name,
      version: versions.get(name) ?? '',
    }))
    await updateQueuedVersions(db, service, queuedVersions)
  }

  async #destinationIdOf(pipeline: Pipeline): Promise<number> {
    const key = destinationKey(this.#deps, pipeline)
    const keyText = JSON.stringify(key)
    const id = this.#destinationIds.get(keyText) ?? (await ensureDestination(this.#deps.db, key)).id
    this.#destinationIds.set(keyText, id)
    return id
  }

  /** Logs one warning for each pipeline whose schedule is affected by a clock change. */
  #warnOfClockChanges(schedules: readonly DeclaredSchedule[]): void {
    const now = new Date(this.#deps.clock.now())
    for (const { pipeline, cron, timezone } of schedules) {
      if (this.#warned.has(pipeline) || !isTouchedByClockChange({ cron, timezone }, now)) continue
      this.#warned.add(pipeline)
      this.#deps.log.warn(
        { pipeline, cron, timezone },
        'a time of this schedule is skipped or repeated when the clocks change; see docs/schedules.md',
      )
    }
  }
}

/** Returns the error of the file of a pipeline, also if the pipeline is a market (docs/pipelines.md#markets), named `FILE-MARKET`. */
function errorOf(broken: LoadedPipelines['broken'], pipeline: string): ConfigError | undefined {
  return broken.get(pipeline) ?? [...broken].find(([file]) => pipeline.startsWith(`${file}-`))?.[1]
}

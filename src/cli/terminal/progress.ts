import { createRequire } from 'node:module'
import { Writable } from 'node:stream'
import type * as cliProgress from 'cli-progress'
import type { Progress } from '../../model/report.ts'
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import type { Output } from '../context.ts'
import { count, duration, instant } from './text.ts'
import { fitting } from './width.ts'

/** View of the progress of a run on stderr. */
export interface ProgressView {
  readonly update: (progress: Progress) => void
  /** Clears the bar, or stops the lines. Safe to call twice. */
  readonly end: () => void
}

/** Minimum time in milliseconds between two progress lines of a stage. Its first and its last count are always written. */
const minLineMs = 10_000
/** Maximum time in milliseconds between two progress lines. */
const maxSilenceMs = 15_000
/** Interval in milliseconds at which the silence is measured. */
const silenceCheckMs = 1000
/** Time in milliseconds between two frames of a bar. */
const redrawMs = 100
/** Milliseconds after which a terminal shows activity, even without the first answer of a slow source. */
const firstDrawMs = 400

/**
 * Returns a view that shows a bar on a terminal. Elsewhere, and on a plain terminal, it writes lines in `format`. `label`: name of the
 * pipeline or command in lines before the run has started. Later lines name pipeline and run.
 */
export function createProgress(output: Output, clock: Clock, label: string, format: Config['log']['format'] = 'pretty'): ProgressView {
  return output.isTTY && !output.style.plain ? terminalBar(output, clock) : plainLines(output, clock, { label, format })
}

function plainLines(output: Output, clock: Clock, { label, format }: { label: string; format: Config['log']['format'] }): ProgressView {
  let last: Progress | undefined
  let printed: Progress | undefined
  const begunAt = clock.monotonic()
  let lastLineAt = begunAt - minLineMs
  const rate = createRate(clock)
  const write = (stage: string, facts: readonly Fact[], run?: Progress['run']) =>
    output.write(
      format === 'json'
        ? `${JSON.stringify({ time: new Date(clock.now()).toISOString(), level: 'info', msg: 'progress', ...(run ?? { label }), stage, ...Object.fromEntries(facts) })}\n`
        : `${[instant(clock.now()), ...(run === undefined ? [label] : [run.pipeline, run.runId]), stage, ...facts.map(([name, value]) => `${name}=${name === 'waiting' ? JSON.stringify(value) : value}`)].join(' ')}\n`,
    )
  const writeProgress = (progress: Progress) => {
    lastLineAt = clock.monotonic()
    printed = progress
    write(progress.stage, factsOf(progress, rate(progress)), progress.run)
  }
  /** Writes the last count of a stage, unless the last line has it. */
  const writeLastOfStage = () => {
    if (last !== undefined && (last.done !== printed?.done || last.total !== printed.total)) writeProgress(last)
  }
  const writeWaiting = () => {
    lastLineAt = clock.monotonic()
    write('begin', [['waited', `${Math.round((lastLineAt - begunAt) / 1000)}s`]])
  }
  // A stage without reports (one long statement, a slow source) still writes a line.
  const timer = setInterval(() => {
    if (clock.monotonic() - Math.max(lastLineAt, begunAt) >= maxSilenceMs - silenceCheckMs) {
      if (last) writeProgress(last)
      else writeWaiting()
    }
  }, silenceCheckMs)
  timer.unref()
  return {
    update(progress) {
      const newStage = progress.stage !== last?.stage
      if (newStage) writeLastOfStage()
      last = progress
      if (newStage || clock.monotonic() - lastLineAt >= minLineMs) writeProgress(progress)
    },
    end: () => {
      clearInterval(timer)
      writeLastOfStage()
      last = undefined
    },
  }
}

type Fact = readonly [name: string, value: string | number]

function factsOf(progress: Progress, perSecond: number | undefined): readonly Fact[] {
  const { stage, done, total, rejected, waiting } = progress
  const isMoving = waiting === undefined && perSecond !== undefined && perSecond > 0
  return [
    ...(stage === 'read' ? [['rows', done] as const] : isCounted(progress) ? [['done', done] as const] : []),
    ...(total === undefined ? [] : [['of', total] as const]),
    ...(isMoving ? [['per_second', Math.round(perSecond)] as const] : []),
    ...(isMoving && total !== undefined && done < total ? [['left', `${Math.ceil((total - done) / perSecond)}s`] as const] : []),
    ...(rejected ? [['rejected', rejected] as const] : []),
    ...(waiting === undefined ? [] : [['waiting', waiting] as const]),
  ]
}

/** Returns false for a stage without a count yet, such as one long SQL statement, because a 0 would look like a failure. */
function isCounted({ done, total }: Progress): boolean {
  return done > 0 || total !== undefined
}

function terminalBar(output: Output, clock: Clock): ProgressView {
  const rate = createRate(clock)
  let bar: cliProgress.SingleBar | undefined
  const createBar = () => {
    // Loaded here, because only a terminal has a bar. The cast is needed, because require has no types.
    const { SingleBar } = createRequire(import.meta.url)('cli-progress') as typeof cliProgress
    return new SingleBar({
      stream: barStream(output),
      clearOnComplete: true,
      hideCursor: true,
      fps: 1000 / redrawMs,
      linewrap: false,
      barsize: Math.max(6, Math.min(24, (output.columns ?? 80) - 56)),
      format: (options, _params, payload: Partial<Bar>) => {
        const size = options.barsize ?? 16
        const full = Math.round(size * (payload.share ?? 0))
        const drawn = payload.share === undefined ? '' : `${'█'.repeat(full)}${'░'.repeat(size - full)}  `
        return fitting(`${(payload.line ?? '').replace('\u0000', drawn)}`, (output.columns ?? 80) - 1)
      },
    })
  }
  const draw = (payload: Bar, done: number, total: number | undefined) => {
    clearTimeout(firstDraw)
    if (!bar) {
      bar = createBar()
      bar.start(total ?? 1, done, payload)
    } else {
      bar.setTotal(Math.max(total ?? done + 1, done + 1))
      bar.update(done, payload)
    }
  }
  const firstDraw = setTimeout(() => draw({ line: 'starting …', share: undefined }, 0, undefined), firstDrawMs)
  firstDraw.unref()
  return {
    update(progress) {
      draw(barOf(progress, rate(progress)), progress.done, progress.total)
    },
    end() {
      clearTimeout(firstDraw)
      bar?.stop()
      bar = undefined
    },
  }
}

/**
 * Returns a stream for cli-progress. The stream drops the escapes that save and restore the cursor. After a log line the saved position
 * would be wrong, and the bar would stay on the screen.
 */
function barStream(output: Output): NodeJS.WritableStream {
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      if (chunk !== '\u001b7' && chunk !== '\u001b8') output.write(chunk)
      done()
    },
  })
  return Object.assign(stream, { isTTY: true, columns: output.columns })
}

interface Bar {
  /** Stage and numbers, with a NUL in the place of the bar. */
  readonly line: string
  /** Done part of the stage, from 0 to 1. Always set, even to undefined, because cli-progress would keep the value of the previous stage. */
  readonly share: number | undefined
}

/** Returns the text and share of the bar for a stage. Exported for its test, because cli-progress skips frames. */
export function barOf(progress: Progress, perSecond: number | undefined): Bar {
  const { stage, done, total, rejected, waiting } = progress
  const isMoving = waiting === undefined && perSecond !== undefined && perSecond > 0
  const parts = [
    ...(!isCounted(progress)
      ? []
      : [total === undefined ? `${count(done)}${stage === 'read' ? ' rows' : ''}` : `${count(done)}/${count(total)}`]),
    ...(isMoving ? [`${count(Math.round(perSecond))}/s`] : []),
    ...(isMoving && total !== undefined && done < total
      ? [`${duration(((total - done) / perSecond) * 1000).replace(/\.\d/, '')} left`]
      : []),
    ...(rejected ? [`rejected ${count(rejected)}`] : []),
    ...(waiting === undefined ? [] : [waiting]),
  ]
  return {
    line: `${stage.padEnd(6)}\u0000${parts.join('  ')}`,
    share: total === undefined || total === 0 ? undefined : Math.min(1, done / total),
  }
}

/**
 * Returns a function that computes the average rate per second since the stage began; undefined in the first second of a stage. The
 * rate of the last seconds would jump, because the limits of the service cause bursts and waits.
 */
function createRate(clock: Clock): (progress: Progress) => number | undefined {
  let stage: Progress['stage'] | undefined
  let start = { at: 0, done: 0 }
  return ({ stage: current, done }) => {
    const at = clock.monotonic()
    if (current !== stage) {
      stage = current
      start = { at, done }
    }
    return at - start.at < 1000 ? undefined : ((done - start.done) * 1000) / (at - start.at)
  }
}

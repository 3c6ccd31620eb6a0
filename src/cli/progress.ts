import { SingleBar } from 'cli-progress'
import type { Progress } from '../sync/report.ts'
import type { Clock } from '../clock.ts'
import type { Output } from './context.ts'
import { count, duration, instant } from './text.ts'
import { fitting, width } from './width.ts'

/** Shows how a run gets on, on stderr. `end` clears the bar, or stops the lines; safe to call twice. */
export interface ProgressView {
  readonly update: (progress: Progress) => void
  readonly end: () => void
}

/** Between two lines of a stream that is no terminal: at most one in 10 s, at least one in 30 s (experience.md 2a, 12). */
const lineEveryMs = 10_000
const silenceMs = 30_000
const redrawMs = 100
/** So soon a terminal shows that something goes on, even where a slow source has not answered yet (manner 13). */
const firstDrawMs = 400

/**
 * A bar for a terminal, plain lines for everything else, a terminal that must stay plain included. `label` names pipeline
 * and run. Nothing here may fail a run: it only writes.
 */
export function createProgress(output: Output, clock: Clock, label: string): ProgressView {
  return output.isTTY && !output.style.plain ? terminalBar(output, clock) : plainLines(output, clock, label)
}

function plainLines(output: Output, clock: Clock, label: string): ProgressView {
  let last: Progress | undefined
  const begunAt = clock.monotonic()
  let lastLineAt = begunAt - lineEveryMs
  const rate = createRate(clock)
  const line = (progress: Progress) => {
    lastLineAt = clock.monotonic()
    output.write(`${instant(clock.now())} ${label} ${progress.stage} ${facts(progress, rate(progress)).join(' ')}`.trimEnd() + '\n')
  }
  const wait = () => {
    lastLineAt = clock.monotonic()
    output.write(`${instant(clock.now())} ${label} begin waited=${Math.round((lastLineAt - begunAt) / 1000)}s\n`)
  }
  // A stage that reports nothing (one long statement, a source that is slow to answer) is not silent either.
  const timer = setInterval(() => {
    if (clock.monotonic() - Math.max(lastLineAt, begunAt) >= silenceMs - 1000) {
      if (last) line(last)
      else wait()
    }
  }, 1000)
  timer.unref()
  return {
    update(progress) {
      const newStage = progress.stage !== last?.stage
      last = progress
      if (newStage || clock.monotonic() - lastLineAt >= lineEveryMs) line(progress)
    },
    end: () => clearInterval(timer),
  }
}

function facts(progress: Progress, perSecond: number | undefined): string[] {
  const { stage, done, total, rejected, refused, waiting } = progress
  const moving = perSecond !== undefined && perSecond > 0
  return [
    ...(stage === 'read' ? [`rows=${done}`] : isCounted(progress) ? [`done=${done}`] : []),
    ...(total === undefined ? [] : [`of=${total}`]),
    ...(moving ? [`per_second=${Math.round(perSecond)}`] : []),
    ...(moving && total !== undefined && done < total ? [`left=${Math.ceil((total - done) / perSecond)}s`] : []),
    ...(rejected ? [`rejected=${rejected}`] : []),
    ...(refused ? [`refused=${refused}`] : []),
    ...(waiting === undefined ? [] : [`waiting="${waiting}"`]),
  ]
}

/** A stage that is one long statement has nothing to count while it runs, and a 0 would read as a failure. */
function isCounted({ done, total }: Progress): boolean {
  return done > 0 || total !== undefined
}

function terminalBar(output: Output, clock: Clock): ProgressView {
  const rate = createRate(clock)
  let bar: SingleBar | undefined
  const make = () =>
    new SingleBar({
      // cli-progress wants a stream; the pieces that it uses are these.
      stream: process.stderr,
      clearOnComplete: true,
      hideCursor: true,
      fps: 1000 / redrawMs,
      linewrap: false,
      barsize: Math.max(6, Math.min(24, (output.columns ?? 80) - 56)),
      barCompleteChar: '█',
      barIncompleteChar: '░',
      format: (options, _params, payload: Partial<Bar>) => {
        const size = options.barsize ?? 16
        const full = Math.round(size * (payload.share ?? 0))
        const drawn = payload.share === undefined ? '' : `${'█'.repeat(full)}${'░'.repeat(size - full)}  `
        return fit(`${(payload.line ?? '').replace('\u0000', drawn)}`, (output.columns ?? 80) - 1)
      },
    })
  const draw = (payload: Bar, done: number, total: number | undefined) => {
    clearTimeout(first)
    if (!bar) {
      bar = make()
      bar.start(total ?? 1, done, payload)
    } else {
      bar.setTotal(Math.max(total ?? done + 1, done + 1))
      bar.update(done, payload)
    }
  }
  const first = setTimeout(() => draw({ line: 'begin …', share: undefined }, 0, undefined), firstDrawMs)
  first.unref()
  return {
    update(progress) {
      draw(barOf(progress, rate(progress)), progress.done, progress.total)
    },
    end() {
      clearTimeout(first)
      bar?.stop()
      bar = undefined
    },
  }
}

interface Bar {
  /** Stage and numbers, with a NUL where the bar stands. */
  readonly line: string
  /** From 0 to 1. Named even where there is none: cli-progress keeps what it was told before, the share of another stage. */
  readonly share: number | undefined
}

/** What a terminal shows of a stage; exported for its test, because cli-progress leaves out frames as it likes. */
export function barOf(progress: Progress, perSecond: number | undefined): Bar {
  const { stage, done, total, rejected, refused, waiting } = progress
  const moving = perSecond !== undefined && perSecond > 0
  const parts = [
    ...(!isCounted(progress)
      ? []
      : [total === undefined ? `${count(done)}${stage === 'read' ? ' rows' : ''}` : `${count(done)}/${count(total)}`]),
    ...(moving ? [`${count(Math.round(perSecond))}/s`] : []),
    ...(moving && total !== undefined && done < total ? [`${duration(((total - done) / perSecond) * 1000).replace(/\.\d/, '')} left`] : []),
    ...(rejected ? [`rejected ${count(rejected)}`] : []),
    ...(refused ? [`refused ${count(refused)}`] : []),
    ...(waiting === undefined ? [] : [waiting]),
  ]
  return {
    line: `${stage.padEnd(6)}\u0000${parts.join('  ')}`,
    share: total === undefined || total === 0 ? undefined : Math.min(1, done / total),
  }
}

function fit(text: string, columns: number): string {
  return width(text) <= columns ? text : fitting(text, columns)
}

/** Done per second of the running stage, over its last ten seconds or so; undefined until one second has passed. */
function createRate(clock: Clock): (progress: Progress) => number | undefined {
  let stage: Progress['stage'] | undefined
  let marks: { readonly at: number; readonly done: number }[] = []
  return (progress) => {
    const at = clock.monotonic()
    if (progress.stage !== stage) {
      stage = progress.stage
      marks = []
    }
    const newest = marks.at(-1)
    if (!newest || at - newest.at >= 500) marks.push({ at, done: progress.done })
    while (marks.length > 2 && at - (marks[1] as { at: number }).at > 10_000) marks.shift()
    const oldest = marks[0]
    if (!oldest || at - oldest.at < 1000) return undefined
    return ((progress.done - oldest.done) * 1000) / (at - oldest.at)
  }
}

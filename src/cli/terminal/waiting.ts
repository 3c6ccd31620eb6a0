import type { Context } from '../context.ts'
import { duration } from './text.ts'

const redrawMs = 1000

/**
 * Runs `work` and returns its result. After one second, a terminal shows `activity` and the elapsed time until `work` ends. A plain
 * terminal gets one line, and a pipe nothing. `work` must not write to stderr or stdout.
 */
export async function waiting<Result>(context: Pick<Context, 'stderr'>, activity: string, work: () => Promise<Result>): Promise<Result> {
  const { stderr } = context
  if (!stderr.isTTY) return work()
  const begunAt = performance.now()
  let isShown = false
  const timer = setInterval(() => {
    if (stderr.style.plain) {
      if (!isShown) stderr.write(`${activity} …\n`)
    } else {
      const words = `${activity} … ${duration(performance.now() - begunAt).replace(/\.\d/, '')}`
      stderr.write(`\r${stderr.style.dim(words.slice(0, (stderr.columns ?? 80) - 1))}\u001b[K`)
    }
    isShown = true
  }, redrawMs)
  timer.unref()
  try {
    return await work()
  } finally {
    clearInterval(timer)
    if (isShown && !stderr.style.plain) stderr.write('\r\u001b[K')
  }
}

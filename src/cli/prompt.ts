import { createInterface } from 'node:readline/promises'
import type { Context } from './context.ts'

/** Questions to a person, on stderr, one after the other. Close it whatever happens. */
export interface Prompt {
  /** The answer, trimmed; undefined after Ctrl-D, from then on. Rejects when a signal stops the command. */
  readonly ask: (question: string) => Promise<string | undefined>
  readonly close: () => void
}

/** A prompt that nobody can answer would hang a job for ever. */
export function canAsk(context: Pick<Context, 'stderr' | 'env'>): boolean {
  return process.stdin.isTTY === true && context.stderr.isTTY && (context.env['CI'] ?? '') === ''
}

export function openPrompt(context: Pick<Context, 'signal'>): Prompt {
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  // While it asks, readline keeps Ctrl-C for itself.
  prompt.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  let ended = false
  prompt.once('close', () => (ended = true))
  return {
    async ask(question) {
      if (ended) return undefined
      const given = await prompt.question(question, { signal: context.signal }).catch((error: unknown) => {
        if (context.signal.aborted) throw error
        // Ctrl-D: whoever was asked will not say.
        return undefined
      })
      return given?.trim()
    },
    close: () => prompt.close(),
  }
}

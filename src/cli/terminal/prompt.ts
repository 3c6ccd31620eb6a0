import { createInterface } from 'node:readline/promises'
import type { Context } from '../context.ts'

/** Prompt that asks questions on stderr, one after the other. Must be closed. */
export interface Prompt {
  /** Returns the trimmed answer; undefined after Ctrl-D. Rejects with an AbortError if a signal stops the command. */
  readonly ask: (question: string) => Promise<string | undefined>
  readonly close: () => void
}

/** Returns true on an interactive terminal outside of CI. Elsewhere a prompt would wait forever. */
export function canAsk(context: Pick<Context, 'stderr' | 'env'>): boolean {
  return process.stdin.isTTY === true && context.stderr.isTTY && (context.env['CI'] ?? '') === ''
}

/** Opens a prompt on stdin. The signal of `context` aborts a question. */
export function openPrompt(context: Pick<Context, 'signal'>): Prompt {
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  // While readline waits for an answer, the process gets no SIGINT for Ctrl-C. So this handler sends the signal.
  prompt.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  let ended = false
  prompt.once('close', () => (ended = true))
  return {
    async ask(question) {
      if (ended) return undefined
      const given = await prompt.question(question, { signal: context.signal }).catch((error: unknown) => {
        if (context.signal.aborted) throw error
        // The input was closed by Ctrl-D.
        return undefined
      })
      return given?.trim()
    },
    close: () => prompt.close(),
  }
}

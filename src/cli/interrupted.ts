/** Error document of a command that a signal stopped. `main.ts` prints it at a forced quit, `execute.ts` at an orderly one. */
export function interruptedError(message: string) {
  return { code: 'INTERRUPTED', message, where: null, hint: 'run the same command again; it resumes' } as const
}

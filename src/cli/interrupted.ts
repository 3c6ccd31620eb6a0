/** Returns the error of a command that a signal stopped. `main.ts` prints it before a forced quit, `execute.ts` after an orderly end. */
export function interruptedError(message: string) {
  return { code: 'INTERRUPTED', message, where: null, hint: 'run the same command again; it resumes' } as const
}

/**
 * What is kept of another library's error as a cause: its name, code and words. The rest may hold bytes of an answer, and
 * so records of a person (undici's parser).
 */
export function bareCause(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined
  const bare: Error & { code?: string } = new Error(error.message)
  bare.name = error.name
  if ('code' in error && typeof error.code === 'string') bare.code = error.code
  return bare
}

/**
 * Returns name, code and message of another library's error as a cause. The rest may contain bytes of a response, and so
 * personal data (undici's parser).
 */
export function bareCause(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined
  const bare: Error & { code?: string } = new Error(error.message)
  bare.name = error.name
  if ('code' in error && typeof error.code === 'string') bare.code = error.code
  return bare
}

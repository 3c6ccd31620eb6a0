/**
 * Returns a copy of a library's error with only its name, code and message, for use as a cause. Returns undefined for a value that is not
 * an error. Other properties of an error may contain bytes of a response (undici's parser), and these may be personal data.
 */
export function bareCause(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined
  const bare: Error & { code?: string } = new Error(error.message)
  bare.name = error.name
  if ('code' in error && typeof error.code === 'string') bare.code = error.code
  return bare
}

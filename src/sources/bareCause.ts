/**
 * Returns an error with only the name, code and message of a library's error, for use as a cause; undefined for any other value.
 * Other properties may contain bytes of a response, and so personal data (undici's parser).
 */
export function bareCause(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined
  const bare: Error & { code?: string } = new Error(error.message)
  bare.name = error.name
  if ('code' in error && typeof error.code === 'string') bare.code = error.code
  return bare
}

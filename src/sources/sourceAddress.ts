/** Finds the type of a source from its address. */

export type SourceType = 'stdin' | 'file' | 'http' | 'sftp' | 's3' | 'postgres'

const schemes: readonly (readonly [address: RegExp, type: SourceType])[] = [
  [/^https?:/i, 'http'],
  [/^sftp:/i, 'sftp'],
  [/^s3:/i, 's3'],
  [/^postgres(ql)?:/i, 'postgres'],
]

/** Returns the type of an address; undefined for an unknown scheme. */
export function sourceTypeOf(uri: string): SourceType | undefined {
  if (uri === '-') return 'stdin'
  // A scheme has at least two characters here, because a path may begin with a Windows drive letter.
  if (uri.startsWith('file:') || !/^[a-z][a-z0-9+.-]+:/i.test(uri)) return 'file'
  return schemes.find(([address]) => address.test(uri))?.[1]
}

/** Returns true for `postgres:` without a host and a database. */
export function namesNoDatabase(uri: string): boolean {
  return /^postgres(ql)?:\/*$/.test(uri)
}

/** Returns true for a path (also one with a Windows drive letter) or a `file:` address. */
export function isLocalFile(uri: string): boolean {
  return sourceTypeOf(uri) === 'file'
}

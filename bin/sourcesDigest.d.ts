export function sourcesDigest(home: string): string
export function bundledDigest(home: string): string | undefined

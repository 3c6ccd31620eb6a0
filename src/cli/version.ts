import { readFileSync } from 'node:fs'

/** Returns the version in the package.json of Sluice; empty if it has none. */
export function sluiceVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : ''
}

import { readFileSync } from 'node:fs'
import { ownPath } from '../ownPackage.ts'

/** Returns the version in the package.json of Sluice; empty if it has none. */
export function sluiceVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(ownPath('package.json'), 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : ''
}

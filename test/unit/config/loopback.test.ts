/** Addresses of this machine: only these may use plain http, and waits for them are shorter. */
import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { engineSettings } from '../../../src/sync/engine.ts'

function taken(url: string): boolean {
  try {
    loadConfig({ SLUICE_BASE_URL: url }, { dotenv: '/no-such.env' })
    return true
  } catch {
    return false
  }
}

test.for([
  ['http://localhost:4010', true],
  ['http://127.0.0.1', true],
  ['http://127.8.9.10:80', true],
  ['http://[::1]:4010', true],
  ['http://127.0.0.1.example.com', false],
  ['http://localhost.example.com', false],
  ['http://198.51.100.7', false],
] as const)('%s: %s', ([url, local]) => {
  expect(taken(url)).toBe(local)
  expect(engineSettings(url).readLagMs === 0).toBe(local)
})

test('a text that is not an address is not this machine', () => expect(engineSettings('').readLagMs).toBeGreaterThan(0))

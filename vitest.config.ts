import { defineConfig } from 'vitest/config'

const withPostgres = {
  globalSetup: ['test/support/postgres.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // Processes are started, killed and waited for: in CI a second and third try tell a crowded machine from a fault.
  retry: process.env['CI'] === 'true' ? 2 : 0,
}

export default defineConfig({
  test: {
    // Files share a target, each from its first state: one after the other.
    fileParallelism: process.env['CONFORMANCE_TARGET'] === undefined,
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      { test: { name: 'integration', include: ['test/integration/**/*.test.ts'], ...withPostgres } },
      { test: { name: 'conformance', include: ['test/conformance/**/*.test.ts'], ...withPostgres } },
    ],
  },
})

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { endedMessage } from './test/support/endedDatabase.ts'

// Processes that tests start share compiled code, in the folder that `sluice` itself chooses: compiling is a third of a start.
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'node-compile-cache')

// With V8's first room for objects, 1 MB of new and few of old ones, collecting garbage took a fifth of the processor time of four files with
// Postgres (175 instead of 139 s of 178 tests, twice in turns), and a tenth of that of the unit tests.
const execArgv = ['--min-semi-space-size=16', '--max-semi-space-size=32', '--initial-old-space-size=256']

const withPostgres = {
  execArgv,
  globalSetup: ['test/support/postgres.ts', 'test/support/statements.ts'],
  setupFiles: ['scripts/statements/capture.js'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // Processes are started, killed and waited for: in CI a second and third try separate a crowded machine from a fault.
  retry: process.env['CI'] === 'true' ? 2 : 0,
}

/** Tests of a further type of destination, which must be registered before the first pipeline file is checked: in a process of their own. */
const furtherType = [
  'test/integration/acceptance/kills.test.ts',
  'test/integration/acceptance/model.test.ts',
  'test/integration/acceptance/peopleHistories.test.ts',
  'test/integration/erasure/furtherType.test.ts',
  'test/integration/sync/suppressionModel.test.ts',
]

export default defineConfig({
  test: {
    // Most files wait for processes and servers, so two cores are busy with more workers than vitest's own choice there, which is one. Eleven
    // files that wait much took 238 s with three workers and 183 s with four, of the same processor time.
    maxWorkers: 4,
    // Loading the modules for each of 260 files again would take a third of the processor time. But for those above, a file leaves nothing behind in its process.
    isolate: false,
    // What is polled for comes soon, but not within vitest's second on a busy machine.
    expect: { poll: { timeout: 20_000, interval: 20 } },
    // A failed test may leave a run behind, which then finds no database. In CI the next try of the test decides.
    onUnhandledError: ({ message }) => (message === endedMessage ? false : undefined),
    // Files share a target, each from its first state: one after the other.
    fileParallelism: process.env['CONFORMANCE_TARGET'] === undefined,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          // Generated inputs take seconds on a machine that does much else.
          testTimeout: 30_000,
          execArgv,
        },
      },
      { test: { name: 'integration', include: ['test/integration/**/*.test.ts'], exclude: furtherType, ...withPostgres } },
      { test: { name: 'further type', include: furtherType, isolate: true, ...withPostgres } },
      // axe on thirty pages takes a busy machine more than a minute.
      { test: { name: 'browser', include: ['test/browser/**/*.test.ts'], ...withPostgres, testTimeout: 120_000 } },
      { test: { name: 'conformance', include: ['test/conformance/**/*.test.ts'], ...withPostgres } },
    ],
  },
})

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { endedMessage } from './test/support/endedDatabase.ts'

// Processes that tests start share compiled code, in the folder that `sluice` itself chooses: compiling is a third of a start.
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'node-compile-cache')

// V8 begins with room for 1 MB of new objects and few old ones. Then collecting garbage takes a fifth of the processor time of tests with
// Postgres, and a tenth of that of unit tests. Four files with 178 tests took 175 s of processor, and take 139 s with more room.
const execArgv = ['--min-semi-space-size=16', '--max-semi-space-size=32', '--initial-old-space-size=256']

const withPostgres = {
  execArgv,
  globalSetup: ['test/support/postgres.ts', 'test/support/statements.ts'],
  setupFiles: ['scripts/statements/capture.js'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // Processes are started, killed and waited for: in CI a second and third try separate a crowded machine from a fault. `retriedTests.ts`
  // lists the tests that needed one.
  retry: process.env['CI'] === 'true' ? 2 : 0,
}

/**
 * Tests of a further type of destination. It must be registered before the first pipeline file is checked, so they have a process of their
 * own.
 */
const furtherType = [
  'test/integration/acceptance/kills.test.ts',
  'test/integration/acceptance/model.test.ts',
  'test/integration/acceptance/peopleHistories.test.ts',
  'test/integration/erasure/furtherType.test.ts',
  'test/integration/sync/suppressionModel.test.ts',
]

/**
 * Tags of tests:
 * - `long`: takes about 4 s or more, often together with its other cases. `npm run test:quick` leaves it out.
 * - `model`: plays random histories. `npm run test:quick` plays a fifth of them.
 */
const tags = [
  { name: 'long', timeout: 180_000 },
  { name: 'model', timeout: 180_000 },
]

export default defineConfig({
  test: {
    tags,
    ...(process.env['CI'] === 'true' ? { reporters: ['default', './test/support/retriedTests.ts'] } : {}),
    // Most files wait for processes and servers, so one worker, vitest's choice for two cores, leaves these idle. Eleven files that wait much
    // took 238 s with three workers and 183 s with four. The processor time was the same.
    maxWorkers: 4,
    // Loading the modules again for each of 260 files would take a third of the processor time. Except those above, a file leaves nothing
    // behind in its process.
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
          testTimeout: 60_000,
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

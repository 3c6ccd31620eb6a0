/**
 * Mutates files of every format and reads them: each must be read or refused with a code, and alike in chunks of any
 * size. The same properties run shortly in the tests.
 *
 *   npm run fuzz [-- runs for each reader, default 1000000]
 */
import { spawnSync } from 'node:child_process'

const runs = process.argv[2] ?? '1000000'
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', 'test/unit/formats/mutation.test.ts', '--testTimeout', '86400000'], {
  stdio: 'inherit',
  env: { ...process.env, SLUICE_FUZZ_RUNS: runs },
})
process.exitCode = status ?? 1

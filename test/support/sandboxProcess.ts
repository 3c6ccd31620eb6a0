/** A sandbox in its own process, for tests that kill it. Prints its address on the first line. */
import { startSandbox } from '../../src/sandbox/start.ts'

const crash = () => process.kill(process.pid, 'SIGKILL')
const [, , stateFile, compactAfter] = process.argv
const sandbox = await startSandbox({
  crash,
  ...(stateFile === undefined ? {} : { stateFile }),
  ...(compactAfter === undefined ? {} : { compactAfterBytes: Number(compactAfter) }),
})
process.stdout.write(`${sandbox.url}\n`)

/** A sandbox in a process of its own, to be killed by a test: prints its address on the first line. */
import { startSandbox } from '../../src/sandbox/start.ts'

const crash = () => process.kill(process.pid, 'SIGKILL')
const sandbox = await startSandbox(process.argv[2] === undefined ? { crash } : { crash, stateFile: process.argv[2] })
process.stdout.write(`${sandbox.url}\n`)

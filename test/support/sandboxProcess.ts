/** A sandbox in a process of its own, to be killed by a test: prints its address on the first line. */
import { startSandbox } from '../../src/sandbox/start.ts'

const sandbox = await startSandbox(process.argv[2] === undefined ? {} : { stateFile: process.argv[2] })
process.stdout.write(`${sandbox.url}\n`)

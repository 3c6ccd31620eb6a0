/** One sandbox for all tests of a file, reset before each. */
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { withSandbox, type SandboxUnderTest } from './sandbox.ts'

/** Returns a sandbox for all tests of a file. Called at the top of it; usable from the first hook on, not while the file is loaded. */
export function sharedSandbox(options: Parameters<typeof withSandbox>[0] = {}): SandboxUnderTest {
  let opened: SandboxUnderTest | undefined
  beforeAll(async () => {
    opened = await withSandbox(options)
  })
  beforeEach(() => opened?.control.reset())
  afterAll(() => opened?.close())
  const running = (): SandboxUnderTest => {
    if (opened === undefined) throw new Error('the sandbox of this file is not open yet: use it inside of tests and hooks')
    return opened
  }
  return {
    get url() {
      return running().url
    },
    get port() {
      return running().port
    },
    get credentials() {
      return running().credentials
    },
    get control() {
      return running().control
    },
    call: (method, path, rest) => running().call(method, path, rest),
    reset: () => running().reset(),
    close: () => running().close(),
    [Symbol.asyncDispose]: () => running().close(),
  }
}

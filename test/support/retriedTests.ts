/**
 * Reporter that lists the tests that needed more than one try, with the first error of each. A retry hides a test that depends on chance,
 * and this list shows it.
 */
import type { Reporter, TestModule } from 'vitest/node'

export default class RetriedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const retried = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test) => {
        const { retryCount = 0 } = test.diagnostic() ?? {}
        if (retryCount === 0) return []
        const [error] = test.result().errors ?? []
        return [`  ${module.relativeModuleId} > ${test.fullName} (${retryCount})`, ...(error === undefined ? [] : [textOf(error)])]
      }),
    )
    if (retried.length > 0) process.stdout.write(`\nTests that were tried again:\n${retried.join('\n')}\n`)
  }
}

/** Returns the stack of an error with its message, at most 20 lines. */
function textOf({ message, stack = '' }: { readonly message: string; readonly stack?: string }): string {
  const lines = (stack.includes(message) ? stack : `${message}\n${stack}`).split('\n').slice(0, 20)
  return lines.map((line) => `    ${line}`).join('\n')
}

/** Reporter that lists the tests that needed more than one try. A retry hides a test that depends on chance, and this list shows it. */
import type { Reporter, TestModule } from 'vitest/node'

export default class RetriedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const retried = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test) => {
        const { retryCount = 0 } = test.diagnostic() ?? {}
        return retryCount > 0 ? [`  ${module.relativeModuleId} > ${test.fullName} (${retryCount})`] : []
      }),
    )
    if (retried.length > 0) process.stdout.write(`\nTests that were tried again:\n${retried.join('\n')}\n`)
  }
}

/** Log lines for people. */
import { expect, test } from 'vitest'
import { hintCompleter } from '../../../src/cli/commandLine/repeatedCall.ts'
import { createLogger } from '../../../src/cli/terminal/log.ts'
import { styleFor } from '../../../src/cli/terminal/style.ts'
import { loadConfig } from '../../../src/config/config.ts'

test('the commands of a log line have the options of the call', () => {
  const lines: string[] = []
  const output = {
    write: (text: string) => void lines.push(text),
    isTTY: false,
    columns: undefined,
    style: styleFor({}, {}),
    completeHint: hintCompleter({ pipelines: 'other shop', database: undefined }),
  }
  const log = createLogger(output, loadConfig({ SLUICE_LOG_FORMAT: 'pretty' }, { dotenv: '/dev/null' }), () => 0, 'info')
  log.warn({ pipeline: 'shop', next: 'sluice run shop --approve-deletes 3' }, 'run ended withheld')
  expect(lines.join('')).toContain("next=sluice run --pipelines 'other shop' shop --approve-deletes 3")
})

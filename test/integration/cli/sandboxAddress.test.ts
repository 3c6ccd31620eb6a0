import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { emptyFolder, printed, sluiceHere, start } from './support.ts'
import { feed } from './workspace.ts'

test(
  'init --sandbox writes the address of the sandbox that runs in the folder, whatever its port',
  { tags: ['long'], timeout: 60_000 },
  async () => {
    const cwd = emptyFolder()
    const child = start(['sandbox', '--port', '0'], { cwd })
    const url = /ready on (\S+)/.exec(await printed(child, /ready on \S+/))?.[1] ?? ''
    writeFileSync(join(cwd, 'feed.csv'), feed(2))
    expect((await sluiceHere(['init', '--source', 'feed.csv', '--sandbox'], { cwd })).code).toBe(0)
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toContain(`SLUICE_BASE_URL=${url}\n`)
    expect((await sluiceHere(['doctor', '--json'], { cwd })).stdout).toContain(`${url} answers`)
    child.kill('SIGTERM')
  },
)

test('a sandbox with own credentials does not advise init --sandbox, which would write the default ones', async () => {
  for (const [args, advised] of [
    [[], true],
    [['--consumer-key', 'own-key'], false],
  ] as const) {
    const child = start(['sandbox', '--port', '0', ...args], { cwd: emptyFolder() })
    const text = await printed(child, /SLUICE_ACCESS_TOKEN_SECRET=/)
    child.kill('SIGTERM')
    expect([text.includes('# paste into .env'), text.includes('sluice init --sandbox')]).toEqual([true, advised])
  }
}, 60_000)

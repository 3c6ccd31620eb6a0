/** Receivers of alerts that the pages of `serve` list: those of `sluice.yaml` now, not at the start of the process. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { receiverNames } from '../../../src/cli/servers/webServer.ts'

test('a receiver that is added or removed while serve runs is listed, and an invalid file changes nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-receivers-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const write = (text: string) => writeFileSync(join(folder, 'sluice.yaml'), text)
  const names = await receiverNames(join(folder, 'pipelines'), {})
  expect(await names()).toEqual([])
  write('alerts: { ops: { type: webhook, url: "https://pager.example.com" }, default: [ops] }\n')
  expect(await names()).toEqual(['ops'])
  write('alerts: [\n')
  expect(await names()).toEqual(['ops'])
  write('alerts: {}\n')
  expect(await names()).toEqual([])
})

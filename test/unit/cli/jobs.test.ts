/** Dependencies of scheduler and workers: what they log about pipeline files. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Context } from '../../../src/cli/context.ts'
import { jobDeps } from '../../../src/cli/servers/jobs.ts'
import type { EngineDeps } from '../../../src/sync/engine.ts'

test('an invalid file is logged once until its error changes, not with each reading of the files', async () => {
  vi.spyOn(process.stdin, 'destroy').mockReturnValue(process.stdin)
  const pipelines = mkdtempSync(join(tmpdir(), 'sluice-jobs-'))
  onTestFinished(() => {
    vi.restoreAllMocks()
    rmSync(pipelines, { recursive: true })
  })
  const write = (text: string) => writeFileSync(join(pipelines, 'shop.yaml'), text)
  const logged: string[] = []
  const log = { error: (_: object, message: string) => logged.push(message) }
  const context = { pipelines, config: () => ({ env: {} }) } as unknown as Context
  const deps = jobDeps(context, { log } as unknown as EngineDeps, undefined, new Set([undefined]))
  write('source: [\n')
  await deps.loadPipelines()
  await deps.loadPipelines()
  expect(logged).toHaveLength(1)
  write('sources: feed.xml\n')
  await deps.loadPipelines()
  await deps.loadPipelines()
  expect(logged).toHaveLength(2)
  write('source: feed.xml\nmap: { id: id }\ndestination: { kind: catalog, catalog_id: "4001" }\n')
  await deps.loadPipelines()
  write('sources: feed.xml\n')
  await deps.loadPipelines()
  expect(logged).toHaveLength(3)
})

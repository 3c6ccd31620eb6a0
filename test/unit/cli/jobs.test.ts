/** Dependencies of scheduler and workers: what they log about pipeline files. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Context } from '../../../src/cli/context.ts'
import { jobDeps } from '../../../src/cli/servers/jobs.ts'
import type { EngineDeps } from '../../../src/sync/engine.ts'

/** A folder for one pipeline file, and the dependencies that read it. `logged`: the errors that they logged. */
function folder() {
  vi.spyOn(process.stdin, 'destroy').mockReturnValue(process.stdin)
  const pipelines = mkdtempSync(join(tmpdir(), 'sluice-jobs-'))
  onTestFinished(() => {
    vi.restoreAllMocks()
    rmSync(pipelines, { recursive: true })
  })
  const logged: string[] = []
  const log = { error: (_: object, message: string) => logged.push(message) }
  const context = { pipelines, config: () => ({ env: {} }) } as unknown as Context
  return {
    logged,
    write: (text: string) => writeFileSync(join(pipelines, 'shop.yaml'), text),
    depsOf: (credentials?: string) => jobDeps(context, { log } as unknown as EngineDeps, credentials),
  }
}

test('the dependencies of the environment log an invalid file also without sets, and those of named credentials do not', async () => {
  const { logged, write, depsOf } = folder()
  write('source: [\n')
  await depsOf('staging').loadPipelines()
  expect(logged).toEqual([])
  await depsOf().loadPipelines()
  expect(logged).toHaveLength(1)
})

test('an invalid file is logged once until its error changes, not with each reading of the files', async () => {
  const { logged, write, depsOf } = folder()
  const deps = depsOf()
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

import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Context } from '../../../src/cli/context.ts'
import { pipelinesNamed } from '../../../src/cli/pipelines.ts'

test('an invalid pipeline file is suggested by its name, and never reported as missing', async () => {
  const pipelines = mkdtempSync(join(tmpdir(), 'sluice-pipelines-'))
  writeFileSync(join(pipelines, 'shop.yaml'), 'source: 1\n')
  writeFileSync(join(pipelines, 'crm.yaml'), 'source: 1\n')
  const named = (...patterns: string[]) =>
    pipelinesNamed(
      {
        pipelines,
        argv: ['run', ...patterns, '--approve-deletes', '5'],
        command: 'run',
        config: () => ({ env: {} }),
      } as unknown as Context,
      patterns,
    )
  await expect(named('shpo')).rejects.toMatchObject({ code: 'UNKNOWN_PIPELINE', hint: 'sluice run shop --approve-deletes 5' })
  await expect(named('shpo', 'jane@example.com')).rejects.toMatchObject({ hint: 'write shop as the pipeline' })
  await expect(named('shop', 'extra')).rejects.toMatchObject({
    code: 'UNKNOWN_PIPELINE',
    message: `no pipeline "extra" in ${pipelines}/. Nothing was read or sent.`,
  })
  await expect(named('shop', 'crm')).rejects.toMatchObject({ code: 'PIPELINE_INVALID' })
})

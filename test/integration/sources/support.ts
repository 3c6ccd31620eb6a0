import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RunError } from '../../../src/errors.ts'
import type { SourceFacts } from '../../../src/formats/rows.ts'
import { silentLogger } from '../../../src/log.ts'
import type { SourceDefinition } from '../../../src/model/pipeline.ts'
import type { SourceRow } from '../../../src/model/record.ts'
import type { SourceContext } from '../../../src/sources/openSource.ts'
import { openSource } from '../../../src/sources/openSource.ts'

export { sourceOf } from '../../support/sourceDefinition.ts'

export interface Folder extends AsyncDisposable {
  readonly path: string
  write: (name: string, content: string | Buffer) => Promise<string>
}

export async function temporaryFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-sources-'))
  return {
    path,
    write: async (name, content) => {
      const file = join(path, name)
      await writeFile(file, content)
      return file
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}

export interface Outcome {
  /** Code of the error, `unchanged`, or `read`. */
  readonly code: string
  readonly rows: readonly SourceRow[]
  readonly facts: SourceFacts | undefined
  readonly error: RunError | undefined
}

export async function readSource(definition: SourceDefinition, context: Partial<SourceContext> = {}): Promise<Outcome> {
  const rows: SourceRow[] = []
  try {
    const source = await openSource(definition, { env: {}, log: silentLogger, backoffMs: 0, ...context })
    try {
      if (source.unchanged) return { code: 'unchanged', rows, facts: source.facts(), error: undefined }
      for await (const batch of source.rows) rows.push(...batch)
      return { code: 'read', rows, facts: source.facts(), error: undefined }
    } finally {
      await source.close()
    }
  } catch (error) {
    if (error instanceof RunError) return { code: error.code, rows, facts: undefined, error }
    throw error
  }
}

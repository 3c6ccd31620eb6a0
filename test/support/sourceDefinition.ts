import type { SourceDefinition } from '../../src/model/pipeline.ts'

/** Returns a source with only an address; `overrides` adds settings. */
export function sourceOf(uri: string, overrides: Partial<SourceDefinition> = {}): SourceDefinition {
  return {
    uri,
    format: 'auto',
    complete: { kind: 'auto' },
    encoding: 'auto',
    compression: 'auto',
    csv: { delimiter: 'auto', quote: '"', headerRow: 'auto' },
    allowPrivate: false,
    ...overrides,
  }
}

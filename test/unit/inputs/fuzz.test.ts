import { expect, test } from 'vitest'
import { fuzzReader, fuzzReaders } from '../../support/fuzzReaders.ts'

test.for(fuzzReaders.map((reader) => [reader.name, reader] as const))(
  '%s: damaged and generated files are read or rejected, and never counted as complete with rows lost',
  async ([, reader]) => {
    expect(await fuzzReader({ reader, runs: Number(process.env['SLUICE_FUZZ_RUNS'] ?? 150), seed: 20_261_121 })).toEqual([])
  },
)

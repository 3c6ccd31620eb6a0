/** Measures how long it takes to reject a pipeline file with very many unknown keys. The time should be linear. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadPipelines } from '../src/pipeline/load.ts'
import { seconds, type Bench } from './figure.ts'

export const bench: Bench = async ({ small, folder, report }) => {
  for (const keys of small ? [2_500, 10_000] : [25_000, 100_000]) {
    const text = Array.from({ length: keys }, (_, i) => `key_${i}: 1\n`).join('')
    writeFileSync(join(folder, 'many.yaml'), text)
    const from = performance.now()
    const { errors } = await loadPipelines(folder)
    const took = (performance.now() - from) / 1000
    report({
      figure: `pipeline file with ${keys} unknown keys`,
      measured: `${seconds(took)}, ${errors.length} invalid`,
      ratio: `${((took / keys) * 1_000_000).toFixed(1)} µs per key`,
    })
  }
}

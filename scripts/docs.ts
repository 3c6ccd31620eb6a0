/** Writes every generated page of docs/. With `--check`, compares the pages instead, and fails if one is out of date. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { coverageDoc, readTests } from './coverageDoc.ts'
import { errorsDoc } from './errorsDoc.ts'
import { faultsDoc } from './faultsDoc.ts'
import { inputsDoc } from './inputsDoc.ts'
import { rejectsDoc } from './rejectsDoc.ts'

const pages: Readonly<Record<string, () => string>> = {
  'coverage.md': () => coverageDoc(readTests(fileURLToPath(new URL('../test', import.meta.url)))),
  'errors.md': errorsDoc,
  'faults.md': faultsDoc,
  'inputs.md': inputsDoc,
  'rejects.md': rejectsDoc,
}

const check = process.argv.includes('--check')
for (const [name, make] of Object.entries(pages)) {
  const file = new URL(`../docs/${name}`, import.meta.url)
  const text = make()
  if (!check) writeFileSync(file, text)
  else if (readFileSync(file, 'utf8') !== text) {
    process.stderr.write(`docs/${name} differs from the code: npm run docs\n`)
    process.exitCode = 1
  }
}

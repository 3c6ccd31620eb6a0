import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadPipelines } from '../../../src/pipeline/load.ts'
import { createFileCache } from '../../../src/pipeline/fileCache.ts'

async function folder() {
  const path = await mkdtemp(join(tmpdir(), 'sluice-unchanged-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

const definition = (catalog: string) =>
  `source: { url: shop.csv }\nmap: { id: id }\ndestination: { kind: catalog, catalog_id: '${catalog}' }\n`

test('loads a file once until its text, its inode or its other inputs change', async () => {
  await using temporary = await folder()
  const file = join(temporary.path, 'a.yaml')
  await writeFile(file, 'one')
  const files = createFileCache<number>()
  let loads = 0
  const get = (otherInputs = '') => files.get(file, otherInputs, async () => ++loads)
  expect([await get(), await get()]).toEqual([1, 1])
  expect(await get('other variables')).toBe(2)
  // The same length, in the same millisecond.
  await writeFile(file, 'two')
  expect([await get('other variables'), await get('other variables')]).toEqual([3, 3])
  await writeFile(`${file}.new`, 'two')
  await rename(`${file}.new`, file)
  expect(await get('other variables')).toBe(4)
})

test('throws a failure again without loading, and loads a missing file each time', async () => {
  await using temporary = await folder()
  const file = join(temporary.path, 'a.yaml')
  const files = createFileCache<number>()
  let loads = 0
  const fail = () => files.get(file, '', () => Promise.reject(new Error(`load ${++loads}`)))
  await expect(fail()).rejects.toThrow('load 1')
  await expect(fail()).rejects.toThrow('load 2')
  await writeFile(file, 'one')
  await expect(fail()).rejects.toThrow('load 3')
  await expect(fail()).rejects.toThrow('load 3')
})

test('a changed pipeline file, variable and default take effect with the next load', async () => {
  await using temporary = await folder()
  const pipelines = join(temporary.path, 'pipelines')
  await mkdir(pipelines)
  const catalogs = async (variables = {}) =>
    (await loadPipelines(pipelines, variables)).pipelines.map(({ destination }) =>
      destination.kind === 'catalog' ? destination.catalogId : '',
    )
  await writeFile(join(pipelines, 'shop.yaml'), definition('4001'))
  expect(await catalogs()).toEqual(['4001'])
  await writeFile(join(pipelines, 'shop.yaml'), definition('4002'))
  expect(await catalogs()).toEqual(['4002'])
  await writeFile(join(pipelines, 'shop.yaml'), definition('${CATALOG}'))
  expect(await catalogs({ CATALOG: '4003' })).toEqual(['4003'])
  expect(await catalogs({ CATALOG: '4004' })).toEqual(['4004'])
  expect((await loadPipelines(pipelines, {})).errors[0]?.message).toContain('CATALOG')
})

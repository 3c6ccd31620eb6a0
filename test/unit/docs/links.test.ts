/** Links between pages, and from code to pages: every page and heading exists, and the index lists every decision. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../..')

const filesBelow = (folder: string, ending: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...filesBelow('docs', '.md'), ...filesBelow('pipelines', '.md')]

test('every link from page to page has a file', () => {
  const links = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, to = '']) => ({ page, to })),
  )
  expect(links.length, 'the checker must see links').toBeGreaterThan(30)
  expect(links.filter(({ page, to }) => !existsSync(join(root, dirname(page), to)))).toEqual([])
})

/** Returns the anchors of the headings of a page, as GitHub makes them. */
const anchorsOf = (page: string): readonly string[] =>
  [...withoutCode(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
const withoutCode = (page: string): string => read(page).replaceAll(/```[\s\S]*?```/g, '')

test('every heading that a page or code links to exists', () => {
  const ofPages = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)].map(([, to = '', anchor = '']) => ({
      file: page,
      page: to === '' ? page : join(dirname(page), to),
      anchor,
    })),
  )
  const ofCode = [...filesBelow('src', '.ts'), ...filesBelow('test', '.ts'), ...filesBelow('bench', '.ts')].flatMap((file) =>
    [...read(file).matchAll(/\b(docs\/[\w/-]+\.md)#([\w-]+)/g)].map(([, page = '', anchor = '']) => ({ file, page, anchor })),
  )
  expect(Math.min(ofPages.length, ofCode.length), 'the checker must see links').toBeGreaterThan(30)
  const missing = [...ofPages, ...ofCode].filter(({ page, anchor }) => !anchorsOf(page).includes(anchor))
  expect(missing).toEqual([])
})

test('a citation of the notes on the specification names a heading, and nothing below it', () => {
  const cited = [...filesBelow('src', '.ts'), 'docs/coverage.md'].flatMap((file) =>
    [...read(file).matchAll(/\bdocs\/spec-notes\.md#[\w-]+(?: (?!and )[^\n*]{0,30})?/g)].map(([citation]) => ({ file, citation })),
  )
  expect(cited.length, 'the checker must see citations').toBeGreaterThan(100)
  expect(cited.filter(({ citation }) => citation.includes(' '))).toEqual([])
})

test('every page that code or a test names exists', () => {
  const named = [...filesBelow('src', '.ts'), ...filesBelow('test', '.ts'), ...filesBelow('bench', '.ts')].flatMap((file) =>
    [...read(file).matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([page]) => ({ file, page })),
  )
  expect(named.length, 'the checker must see names').toBeGreaterThan(10)
  expect(named.filter(({ page }) => !existsSync(join(root, page)))).toEqual([])
})

test('the index lists every decision', () => {
  const index = read('docs/decisions/README.md')
  const decisions = filesBelow('docs/decisions', '.md').filter((file) => !file.endsWith('README.md'))
  expect(decisions.length).toBeGreaterThan(8)
  expect(decisions.filter((file) => !index.includes(`](${file.split('/').at(-1)})`))).toEqual([])
})

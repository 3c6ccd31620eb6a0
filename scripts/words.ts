/**
 * Checks that code and pages are written in the words of CONTRIBUTING.md: `npm run words [-- PATH…]`.
 *
 * Reads comments, texts and names of TypeScript files, and the prose of Markdown pages. Names the file, the line, the word and what to
 * write instead. Also finds sentences of comments and pages that are too long.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { parseSync } from 'oxc-parser'
import { allowed, avoided, avoidedPhrases, docstringOpening, unresolvable } from './words/glossary.ts'
import { longSentences, mostWords } from './words/sentences.ts'

interface Finding {
  readonly file: string
  readonly line: number
  readonly found: string
  readonly instead: string
}

/** Piece of a file, with its start. */
interface Piece {
  readonly kind: 'comment' | 'docstring' | 'text' | 'name'
  readonly value: string
  readonly start: number
}

/** The commit after which subjects follow the rule of CONTRIBUTING.md. */
const lastLongSubject = '0d33fe3'
const subjectLength = 60

const replacement = new Map(avoided.flatMap(({ words, instead }) => words.map((word) => [word, instead] as const)))
const isBelow = (file: string, folder: string): boolean => file === folder || file.startsWith(`${folder}/`)

/** Returns every finding in the files that git knows, sorted by file and line. `paths` limits them. */
export function findWords(paths: readonly string[] = []): { readonly findings: readonly Finding[]; readonly filesRead: number } {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...paths], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => /\.(?:ts|md)$/.test(file) && !file.startsWith('scripts/words/'))
  return { findings: files.flatMap(readFile), filesRead: files.length }
}

function readFile(file: string): Finding[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return [] // deleted, and not committed yet
  }
  const isPage = file.endsWith('.md')
  const pieces = isPage ? prosePieces(text) : codePieces(file, text)
  const lineAt = (place: number) => text.slice(0, place).split('\n').length
  const words = pieces.flatMap((piece) =>
    findingsOf(piece)
      .filter(
        ({ found }) => !allowed.some(({ word, under }) => word === found.toLowerCase() && (under === undefined || isBelow(file, under))),
      )
      .map(({ found, instead, at }) => ({ file, line: lineAt(piece.start + at), found, instead })),
  )
  // The page is generated from titles of tests and the service's contract.
  if (file === 'docs/coverage.md') return words
  const sentences = (isPage ? [pageProse(text)] : wholeComments(pieces, text)).flatMap(({ value, start }) =>
    longSentences(value).map(({ words: count, opening, at }) => ({
      file,
      line: lineAt(start + at),
      found: `${opening} … (${count} words)`,
      instead: `sentences of at most ${mostWords} words`,
    })),
  )
  return [...words, ...sentences].sort((a, b) => a.line - b.line)
}

/** Returns the docstrings and comments. Line comments below each other are one comment, because a sentence may span several. */
function wholeComments(pieces: readonly Piece[], text: string): readonly Piece[] {
  const whole: Piece[] = []
  for (const piece of pieces) {
    if (piece.kind !== 'comment' && piece.kind !== 'docstring') continue
    const last = whole.at(-1)
    const between = last === undefined ? '' : text.slice(last.start + last.value.length, piece.start)
    if (last !== undefined && /^\n[ \t]*\/\/$/.test(between))
      whole[whole.length - 1] = { ...last, value: last.value + between + piece.value }
    else whole.push(piece)
  }
  return whole
}

/** Returns the comments, the strings of several words, the template texts and the identifiers of a file. */
function codePieces(file: string, text: string): Piece[] {
  const { program, comments } = parseSync(file, text)
  const pieces: Piece[] = comments.map(({ type, value, start }) => ({
    kind: type === 'Block' && value.startsWith('*') ? 'docstring' : 'comment',
    value,
    start: start + 2,
  }))
  visit(program, (node) => {
    if (node.type === 'Literal' && typeof node.value === 'string' && /\s/.test(node.value.trim()))
      pieces.push({ kind: 'text', value: text.slice(node.start, node.end), start: node.start })
    else if (node.type === 'TemplateElement') pieces.push({ kind: 'text', value: text.slice(node.start, node.end), start: node.start })
    else if (node.type === 'Identifier' && typeof node.name === 'string') pieces.push({ kind: 'name', value: node.name, start: node.start })
  })
  return pieces
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly name?: unknown
  readonly value?: unknown
}

function visit(value: unknown, each: (node: Node) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, each)
  else if (typeof value === 'object' && value !== null) {
    if ('type' in value && typeof value.type === 'string') each(value as Node) // oxc's nodes all carry start and end
    for (const child of Object.values(value)) visit(child, each)
  }
}

/** Returns the page without code blocks and code spans, whose lengths are kept so that lines stay right. */
function prosePieces(text: string): Piece[] {
  const prose = text.replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, (code) => code.replaceAll(/[^\n]/g, ' '))
  return [{ kind: 'comment', value: prose, start: 0 }]
}

/** Returns the page without code blocks, whose lengths are kept. */
function pageProse(text: string): Piece {
  return { kind: 'comment', value: text.replaceAll(/```[\s\S]*?```/g, (code) => code.replaceAll(/[^\n]/g, ' ')), start: 0 }
}

function findingsOf({ kind, value }: Piece): { readonly found: string; readonly instead: string; readonly at: number }[] {
  if (kind === 'name') {
    return value
      .split(/_|(?<=[a-z0-9])(?=[A-Z])/)
      .flatMap((part) =>
        replacement.has(part.toLowerCase()) ? [{ found: part, instead: replacement.get(part.toLowerCase()) ?? '', at: 0 }] : [],
      )
  }
  const found = [...value.matchAll(/[A-Za-z]+/g)].flatMap(({ 0: word, index }) => {
    const instead = replacement.get(word.toLowerCase())
    return instead === undefined ? [] : [{ found: word, instead, at: index }]
  })
  for (const { phrase, instead } of avoidedPhrases)
    for (const { 0: match, index } of value.matchAll(new RegExp(phrase, 'gi'))) found.push({ found: match, instead, at: index })
  if (kind === 'text') return found
  for (const citation of unresolvable)
    for (const { 0: match, index } of value.matchAll(new RegExp(citation, 'g')))
      found.push({ found: match, instead: 'a page of docs/ with its heading', at: index })
  const opening = kind === 'docstring' ? docstringOpening.exec(value.replace(/^[\s*]+/, '')) : null
  if (opening) found.push({ found: `/** ${opening[0]} …`, instead: 'a verb in the third person, or a noun phrase for a type', at: 0 })
  return found
}

/**
 * Returns a line for each subject after `lastLongSubject` that breaks the rule. None if git does not have this commit (a shallow clone).
 */
export function subjectFindings(): string[] {
  const { status, stdout } = spawnSync('git', ['log', '--format=%h %s', `${lastLongSubject}..HEAD`], { encoding: 'utf8' })
  if (status !== 0) return []
  return stdout.split('\n').flatMap((line) => {
    const subject = line.slice(line.indexOf(' ') + 1)
    if (subject.length > subjectLength) return [`${line}\n  the subject has over ${subjectLength} characters`]
    return line !== '' && subject.split(' ').length < 3 ? [`${line}\n  the subject does not name what changed`] : []
  })
}

/** Returns every finding, one per line; undefined if there is none. */
export function wordsReport(paths: readonly string[] = []): string | undefined {
  const { findings, filesRead } = findWords(paths)
  if (filesRead === 0) return 'no file was read'
  const lines = findings.map(({ file, line, found, instead }) => `${file}:${line}  ${found}  →  ${instead}`)
  const subjects = subjectFindings()
  return lines.length + subjects.length === 0 ? undefined : [...lines, ...subjects].join('\n')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const report = wordsReport(process.argv.slice(2))
  console.log(report ?? 'no findings')
  process.exitCode = report === undefined ? 0 : 1
}

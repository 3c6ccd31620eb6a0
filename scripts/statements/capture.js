/**
 * Records the SQL statements that modules of `src` send: each text once per process, in a file of the folder `SLUICE_STATEMENTS`. Does
 * nothing without this variable. Preloaded by `node --import`. JavaScript, because the Node that runs the launcher loads it too.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

const folder = process.env['SLUICE_STATEMENTS']
const sources = fileURLToPath(new URL('../../src/', import.meta.url))

// Test files of one process load it again.
const isRecording = Symbol.for('sluice.statements')
if (folder !== undefined && !(isRecording in pg.Client.prototype)) capture(join(folder, `${process.pid}.jsonl`))

/** @param {string} file */
function capture(file) {
  const seen = new Set()
  const send = Object.getOwnPropertyDescriptor(pg.Client.prototype, 'query')?.value
  const recording = function (...args) {
    const text = textOf(args[0])
    if (text !== undefined && !seen.has(text)) {
      seen.add(text)
      const sender = senderOf(callers())
      if (sender !== undefined) appendFileSync(file, `${JSON.stringify({ text, sender })}\n`)
    }
    return send.apply(this, args)
  }
  Object.defineProperty(pg.Client.prototype, isRecording, { value: true })
  Object.defineProperty(pg.Client.prototype, 'query', { value: recording, configurable: true, writable: true })
}

/**
 * Text of what `query` was given: a string, a configuration or a COPY stream.
 * @param {unknown} query
 */
function textOf(query) {
  if (typeof query === 'string') return query
  return typeof query === 'object' && query !== null && 'text' in query && typeof query.text === 'string' ? query.text : undefined
}

/**
 * Files of the callers, nearest first. Long stacks only here, because they would make every error slow, also those that a parser throws and
 * catches. Without the text of the stack, for which vitest maps each line: 1.5 ms per statement.
 */
function callers() {
  const { stackTraceLimit } = Error
  const prepare = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace')
  Error.stackTraceLimit = Math.max(stackTraceLimit, 30)
  Error.prepareStackTrace = (_, calls) => calls.map((call) => call.getFileName() ?? '')
  const files = /** @type {readonly string[]} */ (/** @type {unknown} */ (new Error('where').stack))
  Error.stackTraceLimit = stackTraceLimit
  if (prepare === undefined) Reflect.deleteProperty(Error, 'prepareStackTrace')
  else Object.defineProperty(Error, 'prepareStackTrace', prepare)
  return files
}

/**
 * Nearest caller outside node_modules, if it is a module of `src`: tests and libraries send statements of their own.
 * @param {readonly string[]} files
 */
function senderOf(files) {
  for (const file of files) {
    const path = file.startsWith('file:') ? fileURLToPath(file) : file
    if (!/^\/.*\.(?:ts|js)$/.test(path) || path.includes('/node_modules/') || path.includes('/scripts/statements/')) continue
    if (/\/db\/(?:database|queryable)\.ts$/.test(path)) continue
    return path.startsWith(sources) ? path.slice(sources.length) : undefined
  }
  return undefined
}

/**
 * Records every SQL statement that a module of `src` sends, once a process, in a file of the folder `SLUICE_STATEMENTS`. Preloaded by
 * `node --import`; does nothing without that variable. JavaScript, because the launcher of another Node loads it too.
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
      // Only here: long stacks would make every error slow, also those that a parser throws and catches.
      const { stackTraceLimit } = Error
      Error.stackTraceLimit = Math.max(stackTraceLimit, 30)
      const sender = senderOf(new Error('where').stack ?? '')
      Error.stackTraceLimit = stackTraceLimit
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
 * Nearest caller outside node_modules, if it is a module of `src`: tests and libraries send statements of their own.
 * @param {string} stack
 */
function senderOf(stack) {
  for (const frame of stack.split('\n').slice(2)) {
    const path = /(?:file:\/\/|\()?(\/[^():]+\.(?:ts|js)):\d+/.exec(frame)?.[1]
    if (path === undefined || path.includes('/node_modules/') || path.includes('/scripts/statements/') || path.endsWith('/db/database.ts'))
      continue
    return path.startsWith(sources) ? path.slice(sources.length) : undefined
  }
  return undefined
}

import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { RunError } from '../errors.ts'
import { fileError } from '../formats/fileError.ts'
import type { ReadLimits } from '../formats/limits.ts'
import { readLimits } from '../formats/limits.ts'
import type { SourceFacts } from '../formats/rows.ts'
import type { SourceDefinition } from '../pipeline/definition.ts'
import type { Cell, Row } from '../records/record.ts'
import { readCredential } from './credentials.ts'
import { databaseError } from './databaseErrors.ts'
import type { OpenedSource, SourceContext } from './openedSource.ts'
import { Patience } from './patience.ts'
import { catchUnknownMessages, streamOf } from './postgresDriver.ts'

const bool = 16
const timestamp = 1114
const timestamptz = 1184
/** Arrays of char, name, int2, int4, text, bpchar, varchar, int8, float4, float8, date, numeric, uuid. */
const listTypes = new Set([1002, 1003, 1005, 1007, 1009, 1014, 1015, 1016, 1021, 1022, 1182, 1231, 2951])

/** Each group costs a way to the server and back: 64 at 20 ms would be 3,200 rows a second. */
const rowsPerFetch = 500

/** More for one group of rows is no export but a mistake; held in memory it would end the process. */
const groupBytes = 134_217_728

/**
 * Reads the rows of one query through a cursor, in one read-only snapshot of the database. Values are text as Postgres
 * writes them, booleans `true` and `false`, times ISO 8601 in UTC, arrays cells of several texts, null an absent cell.
 * Parameters are bound, never put into the text; the query is one statement.
 *
 * Line 1 is the first row. Needs no proof of its end but the cursor's: complete once it ran dry and the transaction
 * ended. A lost connection cannot be taken up again: the snapshot went with it. A query may think as long as the whole
 * reading may take; a peer that vanished is noticed by keep-alive.
 *
 * @throws RunError SOURCE_QUERY, SOURCE_REFUSED, SOURCE_CREDENTIALS, SOURCE_UNAVAILABLE, SOURCE_DENIED,
 *   FILE_DUPLICATE_COLUMN and the limits of formats/fileError.ts
 */
export async function openPostgres(definition: SourceDefinition, context: SourceContext): Promise<OpenedSource> {
  const { query } = definition
  if (query === undefined)
    throw new RunError('SOURCE_QUERY', 'a postgres source needs a query', {
      where: 'source.query',
      mend: 'Add `query: select …` to the source.',
    })
  const address = addressOf(definition, context.env)
  const label = `postgres://${address.host}${address.pathname}`
  const patience = new Patience(context)
  const client = new pg.Client({
    connectionString: address.href,
    application_name: 'sluice source',
    connectionTimeoutMillis: 15_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    types: { getTypeParser: parserOf },
  })
  // Reported by the query that is under way; without a listener Node would end the process.
  client.on('error', () => undefined)
  catchUnknownMessages(client)
  let closed = false
  const close = async () => {
    if (closed) return
    closed = true
    // A peer that is gone answers no farewell either.
    await Promise.race([client.end().catch(() => undefined), delay(farewellMs, undefined, { ref: false })])
    streamOf(client).destroy()
  }
  // As long as the whole reading may take: a query may think before its first row.
  const ask = <T>(step: Promise<T>) => patience.wait(step, Infinity)
  try {
    await ask(client.connect())
    await ask(client.query('begin transaction isolation level repeatable read read only'))
    await ask(client.query(`set local datestyle = 'ISO'; set local timezone = 'UTC'`))
    await ask(client.query(endWithClient).catch(() => client.query('rollback to savepoint end_with_client')))
    // The extended protocol takes one statement only, with or without parameters.
    await ask(
      client.query({
        text: `declare sluice_source no scroll cursor for ${query.trim().replace(/;$/, '')}`,
        values: [...(definition.parameters ?? [])],
        queryMode: 'extended',
      } as pg.QueryConfig),
    )
  } catch (error) {
    await close()
    patience.throwIfCancelled()
    throw databaseError(error, label)
  }
  const reading = new QueryReading(client, { label, limits: context.limits ?? readLimits, patience })
  return {
    unchanged: false,
    detected: { format: 'sql', encoding: 'utf-8', compression: 'none', notes: [] },
    rows: reading.rows(close),
    facts: () => reading.facts(),
    close,
  }
}

/**
 * The server looks whether somebody still waits, and gives up a query that nobody does: a run that was ended would leave
 * it running, for hours maybe. Since Postgres 14, and not on every system; elsewhere nothing is set.
 */
const endWithClient = `savepoint end_with_client; set local client_connection_check_interval = '2s'; release savepoint end_with_client`

/** How long a server may take to say good-bye. */
const farewellMs = 1_000

class QueryReading {
  readonly #client: pg.Client
  readonly #label: string
  readonly #limits: ReadLimits
  readonly #patience: Patience
  readonly #hash: Hash = createHash('sha256')
  #columns: readonly string[] = []
  #bytes = 0
  #facts: SourceFacts | undefined

  constructor(client: pg.Client, options: { readonly label: string; readonly limits: ReadLimits; readonly patience: Patience }) {
    this.#client = client
    this.#label = options.label
    this.#limits = options.limits
    this.#patience = options.patience
  }

  async *rows(close: () => Promise<void>): AsyncGenerator<readonly Row[]> {
    let line = 0
    try {
      for (;;) {
        const result = await this.#fetch()
        if (line === 0) this.#takeColumns(result.fields.map(({ name }) => name))
        if (result.rows.length === 0) break
        const batch: Row[] = []
        for (const values of result.rows) batch.push({ line: ++line, columns: this.#columns, cells: this.#cells(values, line) })
        this.#count(result.rows)
        yield batch
      }
      await this.#patience.wait(this.#client.query('commit'), Infinity)
    } catch (error) {
      this.#patience.throwIfCancelled()
      throw databaseError(error, this.#label, line)
    } finally {
      await close()
    }
    this.#facts = {
      uri: this.#label,
      bytes: this.#bytes,
      sha256: this.#hash.digest('hex'),
      format: 'sql',
      encoding: 'utf-8',
      compression: 'none',
      columns: this.#columns,
      finalNewline: null,
      completeness: { complete: true, proof: 'query read to its end' },
      notes: [],
    }
  }

  facts(): SourceFacts {
    if (this.#facts === undefined) throw new Error('the facts of a source are known once its rows have ended')
    return this.#facts
  }

  /** The next rows. What arrives is counted as it arrives: the driver would gather any amount before it hands it over. */
  async #fetch(): Promise<pg.QueryArrayResult<(Cell | null)[]>> {
    const stream = streamOf(this.#client)
    let arrived = 0
    let tooLarge: RunError | undefined
    const count = (chunk: Buffer) => {
      arrived += chunk.length
      if (arrived <= groupBytes || tooLarge !== undefined) return
      tooLarge = fileError('FILE_RECORD_TOO_LARGE', `${rowsPerFetch} rows hold more than ${groupBytes} bytes`, {
        name: this.#label,
        mend: 'Select only the columns that are mapped, and shorten long values in the query.',
      })
      stream.destroy(tooLarge)
    }
    stream.on('data', count)
    try {
      return await this.#patience.wait(
        this.#client.query<(Cell | null)[]>({ text: `fetch ${rowsPerFetch} from sluice_source`, rowMode: 'array' }),
        Infinity,
      )
    } catch (error) {
      throw tooLarge ?? error
    } finally {
      stream.off('data', count)
    }
  }

  #takeColumns(names: readonly string[]): void {
    this.#columns = names
    if (names.length === 0)
      throw new RunError('SOURCE_QUERY', 'the query gives no column', { where: this.#label, mend: 'Select the columns that are mapped.' })
    if (new Set(names).size < names.length)
      throw fileError('FILE_DUPLICATE_COLUMN', 'the query gives one name to several columns', {
        name: this.#label,
        mend: 'Give every column its own name with `as`.',
      })
    if (names.length > this.#limits.columns)
      throw fileError('FILE_TOO_MANY_COLUMNS', `the query has more than ${this.#limits.columns} columns`, {
        name: this.#label,
        mend: 'Select only the columns that are mapped.',
      })
  }

  #cells(values: readonly (Cell | null)[], line: number): readonly (Cell | undefined)[] {
    return values.map((value) => {
      if (value === null) return undefined
      if (typeof value === 'string' && value.length > this.#limits.fieldBytes) {
        throw fileError('FILE_FIELD_TOO_LARGE', `a value is larger than ${this.#limits.fieldBytes} bytes`, {
          name: this.#label,
          at: `row ${line}`,
          mend: 'Shorten the value in the query.',
        })
      }
      return value
    })
  }

  #count(rows: readonly (readonly (Cell | null)[])[]): void {
    const text = JSON.stringify(rows)
    this.#bytes += Buffer.byteLength(text)
    if (this.#bytes > this.#limits.compressedBytes)
      throw fileError('FILE_TOO_LARGE', `the result is larger than ${this.#limits.compressedBytes} bytes`, {
        name: this.#label,
        mend: 'Select only the columns and rows that are needed.',
      })
    this.#hash.update(text)
  }
}

/** `postgres:` alone means the database of Sluice itself; `credentials.url` names a variable with the whole address. */
function connectionOf(definition: SourceDefinition, env: Readonly<Record<string, string | undefined>>): string {
  const named = readCredential('url', definition.credentials, env)
  if (named !== undefined) return named
  if (!/^postgres(ql)?:\/*$/.test(definition.uri)) return definition.uri
  const own = env['DATABASE_URL']
  if (own === undefined || own === '')
    throw new RunError('SOURCE_CREDENTIALS', 'the source names no database and DATABASE_URL is not set', {
      where: 'source.url',
      mend: 'Write postgres://user@host/database, or name a variable under `credentials: { url: … }`.',
    })
  return own
}

/** The whole address, with the password where `credentials.password` names one: the driver prefers the address to it. */
function addressOf(definition: SourceDefinition, env: Readonly<Record<string, string | undefined>>): URL {
  const given = connectionOf(definition, env)
  // postgres://user@/database, over a socket or to this machine, is an address for the driver only.
  const text = URL.canParse(given) ? given : given.replace('@/', '@localhost/')
  // Neither repeated nor handed to the driver, whose own error would: it may hold a password.
  if (!URL.canParse(text))
    throw new RunError('SOURCE_REFUSED', 'the address of the database cannot be read', {
      where: 'source.url',
      mend: 'Write postgres://user@host/database and name the password under `credentials`; in an address # is %23 and / is %2F.',
    })
  const address = new URL(text)
  const password = readCredential('password', definition.credentials, env)
  if (password !== undefined) address.password = encodeURIComponent(password)
  return address
}

function parserOf(oid: number): (value: string) => unknown {
  if (oid === bool) return (value) => (value === 't' ? 'true' : 'false')
  if (oid === timestamptz || oid === timestamp) return (value) => value.replace(' ', 'T').replace(/\+00$/, 'Z')
  if (listTypes.has(oid)) {
    // The typings name a few dozen types and leave arrays out.
    const parse = (pg.types.getTypeParser as (oid: number) => (value: string) => unknown)(1009)
    return (value) => {
      const parsed = parse(value)
      // Of several dimensions the cells one after another: a list in a list has no meaning here.
      return Array.isArray(parsed) ? parsed.flat(Infinity).filter((item): item is string => typeof item === 'string') : value
    }
  }
  return (value) => value
}

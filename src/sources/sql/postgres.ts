import { createHash, type Hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { verifyFully } from '../../postgresTls.ts'
import { RunError } from '../../errors.ts'
import { fileError } from '../../formats/fileError.ts'
import { readLimits, type ReadLimits } from '../../formats/limits.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import type { SourceDefinition } from '../../model/pipeline.ts'
import type { Cell, SourceRow } from '../../model/record.ts'
import { readCredential } from '../credentials.ts'
import { namesNoDatabase } from '../sourceAddress.ts'
import { databaseError } from './databaseErrors.ts'
import type { OpenedSource, SourceContext } from '../openedSource.ts'
import { Timeouts } from '../timeouts.ts'
import { catchUnknownMessages, streamOf } from './postgresDriver.ts'

/** Object ids of types in Postgres. */
const boolOid = 16
const timestampOid = 1114
const timestamptzOid = 1184
/** Arrays of char, name, int2, int4, text, bpchar, varchar, int8, float4, float8, date, numeric, uuid. */
const listTypeOids = new Set([1002, 1003, 1005, 1007, 1009, 1014, 1015, 1016, 1021, 1022, 1182, 1231, 2951])

/**
 * Number of rows in one fetch. Each fetch costs a round trip. With 64 rows and a round trip of 20 ms, a read would get 3,200 rows per
 * second.
 */
const rowsPerFetch = 500

/** Maximum number of bytes of one fetch. A larger fetch is a mistake, and would end the process for lack of memory. */
const maxFetchBytes = 134_217_728

/**
 * Opens one query as a source. Reads its rows through a cursor, in one read-only snapshot of the database. The query must be one statement.
 * Its parameters are bound, never put into the text. Line 1 is the first row. Values are texts as Postgres writes them, except
 * - boolean: `true` or `false`
 * - timestamp: ISO 8601; a timestamp with a zone in UTC
 * - array of one of `listTypeOids`: a cell of several texts
 * - null: an absent cell
 *
 * The end of the cursor proves a complete read, once the transaction has ended. If the connection is lost, the read cannot be resumed,
 * because its snapshot is lost. After the connection is open, only the timeout of the whole read applies, because a query may take long.
 * Keep-alive detects a lost server.
 *
 * @throws RunError SOURCE_QUERY, SOURCE_REFUSED, SOURCE_CREDENTIALS, SOURCE_MISSING, SOURCE_UNAVAILABLE, SOURCE_DENIED,
 * FILE_DUPLICATE_COLUMN and the FILE_… codes of exceeded limits
 */
export async function openPostgres(definition: SourceDefinition, context: SourceContext): Promise<OpenedSource> {
  const { query } = definition
  if (query === undefined)
    throw new RunError('SOURCE_QUERY', 'a postgres source needs a query', {
      where: 'source.query',
      hint: 'Add `query: select …` to the source.',
    })
  const address = addressOf(definition, context.env)
  const label = `postgres://${address.host}${address.pathname}`
  const timeouts = new Timeouts(label, context)
  const client = new pg.Client({
    connectionString: verifyFully(address.href),
    application_name: 'sluice source',
    connectionTimeoutMillis: 15_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    types: { getTypeParser: parserOf },
  })
  // A timeout of the server may end the session between two fetches. The next fetch then fails without the code of the timeout.
  let endError: unknown
  client.on('error', (error) => (endError ??= error instanceof pg.DatabaseError ? error : undefined))
  catchUnknownMessages(client)
  let closed = false
  const close = async () => {
    if (closed) return
    closed = true
    // A lost server does not answer the close message.
    await Promise.race([client.end().catch(() => undefined), delay(closeTimeoutMs, undefined, { ref: false })])
    streamOf(client).destroy()
  }
  const waitFor = <T>(step: Promise<T>) => timeouts.wait(step, Infinity)
  try {
    await waitFor(client.connect())
    await waitFor(client.query('begin transaction isolation level repeatable read read only'))
    await waitFor(client.query(readSettings))
    await waitFor(client.query(endWithClient).catch(() => client.query('rollback to savepoint end_with_client')))
    // The extended protocol takes one statement only, with or without parameters.
    const declaration = {
      text: `declare sluice_source no scroll cursor for ${query.trim().replace(/;$/, '')}`,
      values: [...(definition.parameters ?? [])],
      queryMode: 'extended',
    }
    await waitFor(client.query(declaration))
  } catch (error) {
    await close()
    timeouts.throwIfEnded()
    throw databaseError(endError ?? error, label)
  }
  const reading = new QueryReading(client, {
    label,
    limits: context.limits ?? readLimits,
    timeouts,
    causeOf: (error) => (error instanceof RunError ? error : (endError ?? error)),
  })
  return {
    unchanged: false,
    detected: { format: 'sql', encoding: 'utf-8', compression: 'none', notes: [] },
    rows: reading.rows(close),
    facts: () => reading.facts(),
    close,
  }
}

/**
 * SQL that makes the server check whether the client is still connected. Without this check, the query of a cancelled run could continue
 * for hours. Has no effect before Postgres 14 and on some operating systems.
 */
const endWithClient = `savepoint end_with_client; set local client_connection_check_interval = '2s'; release savepoint end_with_client`

/**
 * SQL that overrides settings of the user and the server which change the texts of values. With `extra_float_digits` below 1, a price of the
 * type `real` loses digits: 12345.67 becomes 12345.7. Before Postgres 12, the default 0 writes the expected digits, and 1 would write more.
 */
const readSettings = `set local datestyle = 'ISO'; set local timezone = 'UTC';
  select set_config('extra_float_digits', '1', true) where current_setting('server_version_num')::int >= 120000`

/** Timeout of a clean close in milliseconds. */
const closeTimeoutMs = 1_000

class QueryReading {
  readonly #client: pg.Client
  readonly #label: string
  readonly #limits: ReadLimits
  readonly #timeouts: Timeouts
  /** Returns the error that ended the session at the server, else the given error. */
  readonly #causeOf: (error: unknown) => unknown
  readonly #hash: Hash = createHash('sha256')
  #columns: readonly string[] = []
  #bytes = 0
  #facts: SourceFacts | undefined

  constructor(
    client: pg.Client,
    options: {
      readonly label: string
      readonly limits: ReadLimits
      readonly timeouts: Timeouts
      readonly causeOf: (error: unknown) => unknown
    },
  ) {
    this.#client = client
    this.#label = options.label
    this.#limits = options.limits
    this.#timeouts = options.timeouts
    this.#causeOf = options.causeOf
  }

  /** Yields the rows in batches, and calls `close` at the end. @throws RunError as `databaseError` */
  async *rows(close: () => Promise<void>): AsyncGenerator<readonly SourceRow[]> {
    let line = 0
    try {
      for (;;) {
        const result = await this.#fetch()
        if (line === 0) this.#setColumns(result.fields.map(({ name }) => name))
        if (result.rows.length === 0) break
        const batch: SourceRow[] = []
        for (const values of result.rows) batch.push({ line: ++line, columns: this.#columns, cells: this.#cells(values, line) })
        this.#addToDigest(result.rows)
        yield batch
      }
      await this.#timeouts.wait(this.#client.query('commit'), Infinity)
    } catch (error) {
      this.#timeouts.throwIfEnded()
      throw databaseError(this.#causeOf(error), this.#label, line)
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

  /** Fetches the next rows; none at the end. Counts bytes as they arrive, because the driver buffers all rows of a fetch. */
  async #fetch(): Promise<pg.QueryArrayResult<(Cell | null)[]>> {
    const stream = streamOf(this.#client)
    let arrived = 0
    let tooLarge: RunError | undefined
    const count = (chunk: Buffer) => {
      arrived += chunk.length
      if (arrived <= maxFetchBytes || tooLarge !== undefined) return
      tooLarge = fileError('FILE_RECORD_TOO_LARGE', `${rowsPerFetch} rows contain more than ${maxFetchBytes} bytes`, {
        name: this.#label,
        hint: 'Select only the columns that are mapped, and shorten long values in the query.',
      })
      stream.destroy(tooLarge)
    }
    stream.on('data', count)
    try {
      return await this.#timeouts.wait(
        this.#client.query<(Cell | null)[]>({ text: `fetch ${rowsPerFetch} from sluice_source`, rowMode: 'array' }),
        Infinity,
      )
    } catch (error) {
      throw tooLarge ?? error
    } finally {
      stream.off('data', count)
    }
  }

  /** Sets and checks the columns of the query. @throws RunError SOURCE_QUERY, FILE_DUPLICATE_COLUMN, FILE_TOO_MANY_COLUMNS */
  #setColumns(names: readonly string[]): void {
    this.#columns = names
    if (names.length === 0)
      throw new RunError('SOURCE_QUERY', 'the query returns no column', { where: this.#label, hint: 'Select the columns that are mapped.' })
    if (new Set(names).size < names.length)
      throw fileError('FILE_DUPLICATE_COLUMN', 'the query returns several columns of one name', {
        name: this.#label,
        hint: 'Give every column its own name with `as`.',
      })
    if (names.length > this.#limits.columns)
      throw fileError('FILE_TOO_MANY_COLUMNS', `the query has more than ${this.#limits.columns} columns`, {
        name: this.#label,
        hint: 'Select only the columns that are mapped.',
      })
  }

  #cells(values: readonly (Cell | null)[], line: number): readonly (Cell | undefined)[] {
    return values.map((value) => {
      if (value === null) return undefined
      if (bytesOf(value) > this.#limits.fieldBytes) {
        throw fileError('FILE_FIELD_TOO_LARGE', `a value is larger than ${this.#limits.fieldBytes} bytes`, {
          name: this.#label,
          at: `row ${line}`,
          hint: 'Shorten the value in the query.',
        })
      }
      return value
    })
  }

  /** Adds the rows to the digest and the size of the result. @throws RunError FILE_TOO_LARGE */
  #addToDigest(rows: readonly (readonly (Cell | null)[])[]): void {
    const text = JSON.stringify(rows)
    this.#bytes += Buffer.byteLength(text)
    if (this.#bytes > this.#limits.compressedBytes)
      throw fileError('FILE_TOO_LARGE', `the result is larger than ${this.#limits.compressedBytes} bytes`, {
        name: this.#label,
        hint: 'Select only the columns and rows that are needed.',
      })
    this.#hash.update(text)
  }
}

/**
 * Returns the address of the database: the value of the variable that `credentials.url` names, else the address of the source.
 * `postgres:` without a host means the database of Sluice (DATABASE_URL).
 */
function configuredAddress(definition: SourceDefinition, env: Readonly<Record<string, string | undefined>>): string {
  const named = readCredential('url', definition.credentials, env)
  if (named !== undefined) return named
  if (!namesNoDatabase(definition.uri)) return definition.uri
  const ownDatabaseUrl = env['DATABASE_URL']
  if (ownDatabaseUrl === undefined || ownDatabaseUrl === '')
    throw new RunError('SOURCE_CREDENTIALS', 'the source does not name a database and DATABASE_URL is not set', {
      where: 'source.url',
      hint: 'Write postgres://user@host/database, or name a variable under `credentials: { url: … }`.',
    })
  return ownDatabaseUrl
}

/**
 * Parses the configured address. If `credentials.password` names a password, adds it to the address, because the driver prefers the address
 * to other settings.
 *
 * @throws RunError SOURCE_CREDENTIALS, SOURCE_REFUSED
 */
function addressOf(definition: SourceDefinition, env: Readonly<Record<string, string | undefined>>): URL {
  const given = configuredAddress(definition, env)
  // `postgres://user@/database` (this machine) is valid for the driver, but not for URL.
  const text = URL.canParse(given) ? given : given.replace('@/', '@localhost/')
  // An unreadable address may contain a password. So the address is not shown, and not passed to the driver, whose error would show it.
  if (!URL.canParse(text))
    throw new RunError('SOURCE_REFUSED', 'the address of the database cannot be read', {
      where: 'source.url',
      hint: 'Write postgres://user@host/database and name the password under `credentials`; in an address # is %23 and / is %2F.',
    })
  const address = new URL(text)
  const password = readCredential('password', definition.credentials, env)
  if (password === undefined) return address
  address.password = encodeURIComponent(password)
  // An address without a host, such as `postgres:///db?host=/run/postgresql`, has no place for a password before the host.
  if (address.host === '') address.searchParams.set('password', password)
  return address
}

function bytesOf(value: Cell): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : value.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0)
}

/** Returns the function that converts values of a type of Postgres. */
function parserOf(oid: number): (value: string) => unknown {
  if (oid === boolOid) return (value) => (value === 't' ? 'true' : 'false')
  if (oid === timestamptzOid || oid === timestampOid) return (value) => value.replace(' ', 'T').replace(/\+00$/, 'Z')
  if (listTypeOids.has(oid)) {
    // The driver's TypeScript types have a few dozen object ids and omit those of arrays. 1009 is text[].
    const parse = (pg.types.getTypeParser as (oid: number) => (value: string) => unknown)(1009)
    return (value) => {
      const parsed = parse(value)
      // Several dimensions are flattened, because a cell has only one list.
      return Array.isArray(parsed) ? parsed.flat(Infinity).filter((item): item is string => typeof item === 'string') : value
    }
  }
  return (value) => value
}

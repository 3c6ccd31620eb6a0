import { readFileSync } from 'node:fs'
import { parse, stringify } from 'lossless-json'
import { needService } from '../../../config/config.ts'
import { RunError, UsageError } from '../../../errors.ts'
import { decodeAnswer } from '../../../service/client/decode.ts'
import type { Answer } from '../../../service/client/exchange.ts'
import { eachPage } from '../../../service/client/list.ts'
import { parameterOf, type Auth, type Endpoint } from '../../../service/contract/endpoint.ts'
import { createCaller, serviceError, type Call, type Caller } from './caller.ts'
import { argument, flag, listOption, option, type CommandRun, type Context, type Invocation } from '../../context.ts'
import { suggestName } from '../../../suggestName.ts'
import { routeOf } from './route.ts'
import { listOf, recordOf } from '../../../unknownValue.ts'

const methods = ['GET', 'POST', 'PUT', 'DELETE'] as const

/**
 * Sends a call that the user wrote and prints the body of the answer, with all digits of its numbers. Exits 1 for a status outside of 2xx,
 * and for a page of a gateway.
 */
export const run: CommandRun = async (context, invocation) => {
  const call = readCall(invocation)
  const caller = createCaller(needService(context.config(), { user: call.auth === 'user' }), context)
  try {
    const answer = await caller.answer(call)
    if (isFailure(answer, call)) {
      // stdout gets the service's error like any answer, and stderr gets the thrown error with the hint. With --json, stdout may have only
      // one document: the thrown error.
      if (!context.json) print(context, answer, flag(invocation, 'include'))
      throw serviceError(answer, call, context.clock.now())
    }
    const result = flag(invocation, 'paginate') ? await withAllPages(context, caller, call, answer) : answer
    print(context, result, flag(invocation, 'include'))
    return 0
  } finally {
    await caller.close()
  }
}

/** Returns true for a status outside of 2xx, and for an HTML page unless the endpoint returns one. */
function isFailure(answer: Answer, call: Call): boolean {
  const returnsPage = routeOf(call.method, call.path).endpoint?.answer.resource === 'page'
  const isPage = !returnsPage && decodeAnswer(answer).kind === 'html'
  return answer.status < 200 || answer.status >= 300 || isPage
}

/** Reads the call from the command line. @throws {UsageError} `INVALID_VALUE`, `INVALID_JSON` */
function readCall(invocation: Invocation): Call {
  const given = argument(invocation, 0).toUpperCase()
  const method = methods.find((name) => name === given)
  if (!method) {
    throw new UsageError('INVALID_VALUE', `"${given.slice(0, 20)}" is not a method: use ${methods.join(', ')}. Nothing was sent.`, {
      where: 'METHOD',
      hint: `write ${suggestName(given, methods) ?? 'GET'} as the method`,
    })
  }
  const pathArgument = argument(invocation, 1)
  // The first slash may be left out, as in `gh api`.
  const target = /^[\w.]+\//.test(pathArgument) ? `/${pathArgument}` : pathArgument
  if (!target.startsWith('/') || target.startsWith('//') || target.includes('#')) {
    throw new UsageError('INVALID_VALUE', 'PATH must be a path below the host, such as /12/accounts. Nothing was sent.', {
      where: 'PATH',
      hint: 'sluice api GET /12/accounts',
    })
  }
  const [path = '', search = ''] = target.split(/\?(.*)/s, 2)
  const { endpoint, host, auth } = routeOf(method, path)
  const fields = joinRepeatedNames(readFields(invocation), endpoint)
  const query = joinRepeatedNames([...new URLSearchParams(search)], endpoint)
  const data = readData(option(invocation, 'data'))
  const json = data ?? (endpoint?.body === 'json' && Object.keys(fields).length > 0 ? jsonBody(fields, endpoint) : undefined)
  const fieldsInQuery = data !== undefined || (json === undefined && (method === 'GET' || method === 'DELETE'))
  return {
    method,
    host,
    path,
    auth: flag(invocation, 'bearer') ? 'bearer' : defaultAuth(auth),
    query: fieldsInQuery ? { ...query, ...fields } : query,
    ...(json === undefined ? {} : { json }),
    ...(fieldsInQuery || json !== undefined ? {} : { form: fields }),
  }
}

/**
 * Returns the authentication of a call without `--bearer`: as the user if the endpoint permits that, otherwise as the endpoint requires.
 * Calls that need a request token are also signed as the user, because only `auth login` has a request token.
 */
function defaultAuth(auth: Auth): Auth {
  return auth === 'bearer-or-user' || auth === 'request-token' || auth === 'basic-or-user' ? 'user' : auth
}

/** Returns the fields of `-F key=value`, in their order. @throws {UsageError} `INVALID_VALUE` for a text without a key */
function readFields(invocation: Invocation): (readonly [name: string, value: string])[] {
  return listOption(invocation, 'field').map((field) => {
    const at = field.indexOf('=')
    if (at < 1) throw new UsageError('INVALID_VALUE', '-F takes key=value. Nothing was sent.', { where: '-F', hint: 'sluice help api' })
    return [field.slice(0, at), field.slice(at + 1)]
  })
}

/**
 * Returns one value for each name. The values of a repeated name are joined with commas, because the service takes lists in this form.
 *
 * @throws {UsageError} `INVALID_VALUE` for a repeated name if the endpoint's parameter is not a list
 */
function joinRepeatedNames(pairs: readonly (readonly [string, string])[], endpoint: Endpoint | undefined): Record<string, string> {
  const values = new Map<string, string>()
  for (const [name, value] of pairs) {
    const earlier = values.get(name)
    const type = endpoint && parameterOf(endpoint, name)?.type
    if (earlier !== undefined && type !== undefined && type !== 'csv' && type !== 'csv-enum')
      throw new UsageError('INVALID_VALUE', `${name} is given more than once and is not a list. Nothing was sent.`, {
        where: name,
        hint: `give ${name} once`,
      })
    values.set(name, earlier === undefined ? value : `${earlier},${value}`)
  }
  return Object.fromEntries(values)
}

/**
 * Returns the JSON text of `--data`: the value itself, or the content of `@FILE` or of stdin (`-`). Undefined without `--data`.
 *
 * @throws {UsageError} `INVALID_JSON`; the error of the system if the file cannot be read
 */
function readData(given: string | undefined): string | undefined {
  if (given === undefined) return undefined
  const text = given === '-' ? readFileSync(0, 'utf8') : given.startsWith('@') ? readFileSync(given.slice(1), 'utf8') : given
  try {
    parse(text)
  } catch (error) {
    throw new UsageError(
      'INVALID_JSON',
      `--data is not JSON: ${error instanceof Error ? error.message.slice(0, 80) : ''}. Nothing was sent.`,
      { where: '--data', hint: 'sluice api … --data \'{"key":"value"}\', or --data @FILE' },
    )
  }
  return text
}

/**
 * Builds a JSON body from fields, by the types of the endpoint's parameters. Numbers, booleans, objects and arrays are written as they were
 * given, and the parts of a list as an array of texts. All other values, and invalid numbers and booleans, are written as texts.
 *
 * @throws {UsageError} `INVALID_VALUE` for an object or array that is not JSON
 */
function jsonBody(fields: Readonly<Record<string, string>>, endpoint: Endpoint): string {
  const members = Object.entries(fields).map(([name, value]) => {
    const type = parameterOf(endpoint, name)?.type
    if ((type === 'object' || type === 'array') && !isJson(value))
      throw new UsageError('INVALID_VALUE', `${name} is an ${type}, and the value is not JSON. Nothing was sent.`, {
        where: name,
        hint: `-F '${name}=${type === 'object' ? '{"key":"value"}' : '["value"]'}'`,
      })
    const isLiteral =
      type === 'integer' || type === 'long'
        ? /^-?(0|[1-9]\d*)$/.test(value)
        : type === 'boolean'
          ? /^(true|false)$/.test(value)
          : type === 'object' || type === 'array'
    const listJson = type === 'csv' || type === 'csv-enum' ? JSON.stringify(value.split(',')) : undefined
    return `${JSON.stringify(name)}:${isLiteral ? value : (listJson ?? JSON.stringify(value))}`
  })
  return `{${members.join(',')}}`
}

/**
 * Prints the body, which a terminal shows indented; with `include`, status and headers first. `--json` prints one document: a body that is
 * not JSON becomes a JSON text.
 */
function print(context: Context, answer: Answer, include: boolean): void {
  const body = answer.body.toString('utf8')
  if (context.json) {
    const value = isJson(body) ? body : JSON.stringify(body)
    context.stdout.write(
      include ? `{"status":${answer.status},"headers":${JSON.stringify(answer.headers)},"body":${value}}\n` : `${value}\n`,
    )
    return
  }
  if (include)
    context.stdout.write(
      `${answer.status}\n${Object.entries(answer.headers)
        .map(([name, value]) => `${name}: ${value}\n`)
        .join('')}\n`,
    )
  context.stdout.write(`${context.stdout.isTTY && isJson(body) ? (stringify(parse(body), undefined, 2) ?? '') : body}\n`)
}

/**
 * Reads the further pages by `next_cursor`, or by `meta.next_token` of v2. Returns the first answer with the items and `includes` of all
 * pages, and without the cursor. Returns an answer that is not a list unchanged.
 *
 * @throws {ServiceError} if the service refuses a page or returns a cursor twice
 * @throws {RunError} `SERVICE_ANSWER_UNREADABLE` for a later page that is not JSON
 */
async function withAllPages(context: Context, caller: Caller, call: Call, first: Answer): Promise<Answer> {
  const text = first.body.toString('utf8')
  const firstPage = isJson(text) ? recordOf(parse(text)) : {}
  if (!Array.isArray(firstPage['data'])) return first
  const where = `${call.method} ${call.path}`
  // The service accepts with_total_count only without a cursor (docs/spec-notes.md#errors).
  const { with_total_count: _total, ...query } = call.query ?? {}
  const items: unknown[] = []
  const includes: Record<string, unknown[]> = {}
  let last: Readonly<Record<string, unknown>> = firstPage
  const parameter = nextPage(firstPage)?.name ?? 'cursor'
  const fetchLaterPage = async (cursor: string) => {
    const answer = await caller.answer({ ...call, query: { ...query, [parameter]: cursor } })
    if (isFailure(answer, call)) throw serviceError(answer, call, context.clock.now())
    const body = answer.body.toString('utf8')
    if (isJson(body)) return recordOf(parse(body))
    throw new RunError('SERVICE_ANSWER_UNREADABLE', 'a later page is not JSON', { where, hint: 'sluice doctor' })
  }
  const fetchPage = async (cursor: string | undefined) => {
    const page = cursor === undefined ? firstPage : await fetchLaterPage(cursor)
    return { page, nextCursor: nextPage(page)?.value }
  }
  for await (const { page } of eachPage(fetchPage, where)) {
    last = page
    items.push(...listOf(page['data']))
    addIncludes(includes, page)
  }
  const { next_cursor: _cursor, meta, ...rest } = firstPage
  const body = {
    ...rest,
    data: items,
    ...(Object.keys(includes).length === 0 ? {} : { includes }),
    ...(meta === undefined ? {} : { meta: metaOfAll(recordOf(meta), recordOf(last['meta']), items.length) }),
  }
  return { ...first, body: Buffer.from(stringify(body) ?? '') }
}

/** Returns `meta` of v2 for all pages. Takes the `meta` of the first page, the number of all items, and the last page's oldest id. */
function metaOfAll(
  { next_token: _token, ...first }: Readonly<Record<string, unknown>>,
  last: Readonly<Record<string, unknown>>,
  count: number,
): Record<string, unknown> {
  return {
    ...first,
    ...('result_count' in first ? { result_count: count } : {}),
    ...('oldest_id' in last ? { oldest_id: last['oldest_id'] } : {}),
  }
}

/** Adds the records in `includes` of a page of v2 to `all`, except records that an earlier page had. */
function addIncludes(all: Record<string, unknown[]>, page: Readonly<Record<string, unknown>>): void {
  for (const [kind, records] of Object.entries(recordOf(page['includes']))) {
    const knownRecords = (all[kind] ??= [])
    const texts = new Set(knownRecords.map((record) => stringify(record)))
    knownRecords.push(...listOf(records).filter((record) => !texts.has(stringify(record))))
  }
}

/** Returns the query parameter that selects the next page; undefined after the last page. */
function nextPage(page: Readonly<Record<string, unknown>>): { readonly name: string; readonly value: string } | undefined {
  const { next_cursor: cursor, meta } = page
  if (typeof cursor === 'string' && cursor !== '') return { name: 'cursor', value: cursor }
  const { next_token: token } = recordOf(meta)
  return typeof token === 'string' && token !== '' ? { name: 'next_token', value: token } : undefined
}

function isJson(text: string): boolean {
  try {
    parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * A server between client and sandbox that changes the form of every answer, but not its meaning. The client must accept each form
 * (docs/spec-notes.md).
 */
import { createServer, request as send, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Loose } from './sandbox.ts'

export interface Form {
  readonly name: string
  readonly body?: (body: Loose) => Loose
  /** After the body was printed. */
  readonly text?: (text: string, status: number) => string
  readonly headers?: (headers: IncomingHttpHeaders) => IncomingHttpHeaders
}

const withoutHeaders =
  (pattern: RegExp) =>
  (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !pattern.test(name)))
const eachError =
  (change: (error: Loose) => Loose) =>
  (body: Loose): Loose =>
    Array.isArray(body?.errors) ? { ...body, errors: body.errors.map(change) } : body

export const forms: readonly Form[] = [
  { name: 'one record as an array of one', body: (body) => (isAds(body) && isOne(body.data) ? { ...body, data: [body.data] } : body) },
  {
    name: 'an array of one as the record',
    body: (body) =>
      isAds(body) && Array.isArray(body.data) && body.data.length === 1 && !('next_cursor' in body) && !Array.isArray(body.request)
        ? { ...body, data: body.data[0] }
        : body,
  },
  {
    name: 'a batch result summed up in one object',
    body: (body) =>
      isAds(body) &&
      Array.isArray(body.data) &&
      body.data.length > 0 &&
      body.data.every((one: Loose) => one !== null && typeof one === 'object' && 'success_count' in one)
        ? { ...body, data: sum(body.data) }
        : body,
  },
  { name: 'integer error codes', body: eachError((error) => ({ ...error, code: 400 })) },
  {
    name: 'integer codes as text',
    body: eachError((error) => (typeof error.code === 'number' ? { ...error, code: String(error.code) } : error)),
  },
  {
    name: '`attribute` for `parameter`',
    body: eachError(({ parameter, ...error }) => (parameter === undefined ? error : { ...error, attribute: parameter })),
  },
  { name: 'errors without parameter, details and value', body: eachError(({ code, message }) => ({ code, message })) },
  { name: 'errors as bare text', body: eachError((error) => error.message) },
  {
    name: 'one error as an object',
    body: (body) =>
      Array.isArray(body?.errors) && body.errors.length === 1 && body.data === undefined ? { ...body, errors: body.errors[0] } : body,
  },
  {
    name: 'errors as HTML pages',
    text: (text, status) =>
      status >= 400 ? `<!DOCTYPE html><html><head><title>${status}</title></head><body><h1>It did not work</h1></body></html>` : text,
  },
  { name: 'errors as plain text', text: (text, status) => (status >= 400 ? 'It did not work' : text) },
  { name: 'errors with no body', text: (text, status) => (status >= 400 ? '' : text) },
  { name: 'no rate headers', headers: withoutHeaders(/^x-(account-)?rate-limit|^x-current-api|^retry-after/) },
  { name: 'no content type', headers: withoutHeaders(/^content-type/) },
  { name: 'a content type of text', headers: (headers) => ({ ...headers, 'content-type': 'text/plain; charset=UTF-8' }) },
  { name: 'a byte order mark', text: (text) => (text.startsWith('{') ? `\uFEFF${text}` : text) },
  { name: 'blanks and line ends', text: (text) => (text.startsWith('{') ? `\n ${text.replace(/^\{/, '{\r\n  ')} \n` : text) },
  {
    name: 'unknown keys',
    body: (body) =>
      isOne(body)
        ? { ...body, data_type: 'record', extra: { a: [1] }, data: isOne(body.data) ? { ...body.data, brand_new: null } : body.data }
        : body,
  },
  { name: 'no echo', body: (body) => (isOne(body) ? withoutKey(body, 'request') : body) },
  {
    name: 'no next_cursor on the last page',
    body: (body) => (isOne(body) && body.next_cursor === null ? withoutKey(body, 'next_cursor') : body),
  },
  {
    name: 'an empty next_cursor on the last page',
    body: (body) => (isOne(body) && body.next_cursor === null ? { ...body, next_cursor: '' } : body),
  },
  { name: 'keys in another order', body: (body) => (isOne(body) ? Object.fromEntries(Object.entries(body).reverse()) : body) },
  {
    name: 'header names in capitals',
    headers: (headers) => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value])),
  },
  {
    name: 'escapes for what is not ASCII',
    text: (text) =>
      text.startsWith('{') ? text.replace(/[\u0080-\uFFFF]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`) : text,
  },
]

export interface Between extends AsyncDisposable {
  readonly url: string
  form: Form
}

/** Starts a server that passes answers of the sandbox on in the current `form`. A form without `body` does not parse the JSON. */
export async function between(target: string): Promise<Between> {
  const { hostname, port } = new URL(target)
  const server = createServer((request, response) => {
    // The signature covers the Host header, so it is passed on unchanged, and the sandbox gets the address of this server.
    const onward = send({ host: hostname, port, path: request.url, method: request.method, headers: request.headers }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () => {
        const { form } = self
        const status = answer.statusCode ?? 500
        const raw = Buffer.concat(chunks).toString()
        const text = (form.text ?? ((same: string) => same))(
          form.body === undefined || !raw.startsWith('{') ? raw : JSON.stringify(form.body(JSON.parse(raw))),
          status,
        )
        const { 'content-length': _, ...headers } = answer.headers
        response.writeHead(status, (form.headers ?? ((same: IncomingHttpHeaders) => same))(headers) as Record<string, string>)
        response.end(text)
      })
    })
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const self: Between = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    form: { name: 'as it comes' },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return self
}

function isOne(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isAds(body: unknown): body is Record<string, Loose> {
  return isOne(body) && 'request' in body && 'data' in body
}

function withoutKey(body: Record<string, unknown>, name: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([key]) => key !== name))
}

function sum(results: readonly Loose[]): object {
  return results.reduce(
    (all, one) => ({ success_count: all.success_count + one.success_count, total_count: all.total_count + one.total_count }),
    { success_count: 0, total_count: 0 },
  )
}

import type { ServerResponse } from 'node:http'

/** A JSON answer, and the end of it. */
export function answer(response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
  writeAnswer(response, status, body, headers)
  response.end()
}

/** The whole answer, without ending the response. */
export function writeAnswer(response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>>): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers })
  response.write(text)
}

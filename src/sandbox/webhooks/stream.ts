/** Serves `GET /2/activity/stream`: one JSON event per line, on a connection that stays open (spec 6.2). */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { jsonRefusal, PROBLEMS } from '../refusal.ts'
import type { World } from '../area.ts'
import { streamsOf } from './runtime.ts'

/** Maximum number of open streams of the app. Assumed, because the number is not published. */
const MAX_STREAMS = 2
/** Time between empty lines, which keep proxies from closing the connection. */
const KEEP_ALIVE_MS = 20_000

/** Checks that another stream may open. @throws {Refusal} `TooManyConnections` (spec 7) if {@link MAX_STREAMS} are open */
export function checkStreamLimit(world: World): void {
  if (streamsOf(world).size < MAX_STREAMS) return
  throw jsonRefusal(429, {
    title: 'ConnectionException',
    detail: 'This stream is currently at the maximum allowed connection limit.',
    connection_issue: 'TooManyConnections',
    status: 429,
    type: `${PROBLEMS}/streaming-connection`,
  })
}

/** Writes the head of an answer, and keeps it open for events until either side closes the connection. */
export function openStream(world: World, response: ServerResponse): void {
  const streams = streamsOf(world)
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' })
  response.flushHeaders()
  const keepAlive = setInterval(() => response.write('\r\n'), KEEP_ALIVE_MS)
  keepAlive.unref()
  streams.add(response)
  response.on('close', () => {
    clearInterval(keepAlive)
    streams.delete(response)
  })
}

/** Closes the open streams. Returns a new random id for each stream, because the answer names them. */
export function closeStreams(world: World): string[] {
  const streams = streamsOf(world)
  const ids = Array.from(streams, () => randomUUID())
  for (const stream of streams) stream.end()
  // Emptied now, so that a new stream may open immediately. Otherwise a stream leaves the set only when its connection ends.
  streams.clear()
  return ids
}

/** Writes each line to every open stream. */
export function sendToStreams(world: World, lines: readonly string[]): void {
  for (const stream of streamsOf(world)) for (const line of lines) stream.write(`${line}\r\n`)
}

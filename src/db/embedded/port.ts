/**
 * Chooses the port of the embedded server. Takes the port of the last start if it is free, so that connected programs find the server
 * again.
 */
import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { unavailable } from './unavailable.ts'

/** First port to try, and the port after the last one. Systems use higher ports for outgoing connections (Linux: from 32768). */
const firstPort = 20_000
const endPort = 32_768
/** Maximum number of random ports to try. */
const maxAttempts = 200

/**
 * Returns the port that is stored in `file`. If there is none, or another program uses it, chooses and stores a free port.
 * @throws {RunError} `POSTGRES_UNAVAILABLE` if 200 random ports are in use
 */
export async function choosePort(file: string): Promise<number> {
  const storedPort = readPort(file)
  if (storedPort !== undefined && (await isFree(storedPort))) return storedPort
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const port = randomInt(firstPort, endPort)
    if (!(await isFree(port))) continue
    writeFileSync(file, `${port}\n`)
    return port
  }
  throw unavailable(
    `${maxAttempts} random ports from ${firstPort} to ${endPort - 1} are all in use`,
    'close programs that listen on these ports, then the same command again',
  )
}

function readPort(file: string): number | undefined {
  try {
    const port = Number(readFileSync(file, 'utf8'))
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined
  } catch {
    return undefined
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer()
    server.once('error', () => done(false))
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)))
  })
}

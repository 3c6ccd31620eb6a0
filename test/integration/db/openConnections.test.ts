import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openConnections, openDatabase } from '../../../src/db/database.ts'
import { testDatabase } from '../../support/postgres.ts'

test.for([0, 2, 3])('opens the missing connections of a pool with three (%s of them idle)', async (idle) => {
  await using database = await testDatabase({ mayBeUsed: true })
  const db = openDatabase(database.url)
  const used = await Promise.all(Array.from({ length: 3 }, () => db.connect()))
  for (const client of used.splice(0, idle)) client.release()
  await openConnections(db, 5)
  await openConnections(db, 5)
  const opened = db.pool.totalCount
  // The pool does not close a connection that is just being opened.
  await delay(200)
  for (const client of used) client.release()
  await db.close()
  expect(opened).toBe(5)
})

/** Proxy in front of a database. `cutAll` ends all connections. `cutNextSetup` ends the next one that sends the settings of its session. */
async function cuttingFront(url: string) {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let cutsSetup = false
  const server = createServer((socket) => {
    const behind = connect(Number(port), hostname)
    sockets.add(socket.on('close', () => behind.destroy()).on('error', () => undefined))
    behind.on('close', () => socket.destroy()).on('error', () => undefined)
    behind.pipe(socket)
    socket.on('data', (bytes) => {
      if (!cutsSetup || !bytes.includes('set datestyle')) behind.write(bytes)
      else {
        cutsSetup = false
        socket.destroy()
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const front = new URL(url)
  front.port = String((server.address() as AddressInfo).port)
  return {
    url: front.href,
    cutNextSetup: () => (cutsSetup = true),
    cutAll: () => sockets.forEach((socket) => socket.destroy()),
    [Symbol.asyncDispose]: async () => {
      sockets.forEach((socket) => socket.destroy())
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('a connection that breaks while it is set up does not end the notifications', async () => {
  await using database = await testDatabase()
  await using front = await cuttingFront(database.url)
  const db = openDatabase(front.url)
  let opened = 0
  const stop = db.listen((topic) => (opened += topic === undefined ? 1 : 0))
  await expect.poll(() => opened).toBe(1)
  front.cutNextSetup()
  front.cutAll()
  await expect.poll(() => opened, { timeout: 10_000 }).toBe(2)
  front.cutAll()
  await expect.poll(() => opened, { timeout: 10_000 }).toBe(3)
  stop()
  await db.close()
})

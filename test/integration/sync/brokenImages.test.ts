/** Image links by sample: which are requested, how often, and that the check never stops a run. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { claimRun } from '../../../src/db/runs/claim.ts'
import { requestRun } from '../../../src/db/runs/request.ts'
import { checkImages } from '../../../src/http/imageCheck.ts'
import { warnOfBrokenImages } from '../../../src/sync/run/brokenImages.ts'
import { engineUnderTest } from '../../support/engine.ts'

async function images() {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`)
    if (request.url?.includes('slow')) return
    const status = Number(/\/(\d{3})/.exec(request.url ?? '')?.[1] ?? 200)
    response.writeHead(status, status === 302 ? { location: '/404' } : {}).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => (server.closeAllConnections(), server.close(() => resolve()))),
  }
}

test('404 and 410 count as broken; other answers, redirects and slow servers do not', async () => {
  await using server = await images()
  const links = ['/ok.jpg', '/404', '/410', '/500', '/403', '/302', '/404'].map((path) => server.url + path)
  const limits = { allowPrivate: true, perHost: 20, requestMs: 30_000, totalMs: 60_000 }
  const result = await checkImages(links, limits)
  expect(result).toEqual({
    checked: 3,
    broken: [
      { index: 1, reason: 'answer 404' },
      { index: 2, reason: 'answer 410' },
    ],
  })
  expect(await checkImages([`${server.url}/slow.jpg`], { ...limits, requestMs: 300 })).toEqual({ checked: 0, broken: [] })
  // Each link is requested once, by HEAD only, and the redirect is not followed.
  expect(server.asked.toSorted()).toEqual(['/302', '/403', '/404', '/410', '/500', '/ok.jpg', '/slow.jpg'].map((path) => `HEAD ${path}`))
})

test('a host gets at most five requests, and the whole check has a deadline', async () => {
  await using server = await images()
  const many = Array.from({ length: 50 }, (_, i) => `${server.url}/${i}.jpg`)
  expect((await checkImages(many, { allowPrivate: true, requestMs: 30_000, totalMs: 60_000 })).checked).toBe(5)
  expect(server.asked).toHaveLength(5)
  const slow = Array.from({ length: 50 }, (_, i) => `${server.url}/slow${i}.jpg`)
  expect(await checkImages(slow, { allowPrivate: true, perHost: 50, totalMs: 400, requestMs: 300 })).toEqual({ checked: 0, broken: [] })
  expect(server.asked.length).toBeLessThan(5 + 20)
})

test('private addresses, names that resolve to them, http and other schemes are not requested', async () => {
  await using server = await images()
  const port = new URL(server.url).port
  const links = [
    server.url,
    `https://127.0.0.1:${port}/a.jpg`,
    'https://[::1]/a.jpg',
    'https://169.254.169.254/latest/meta-data',
    'https://10.0.0.1/a.jpg',
    'https://localhost/a.jpg',
    'http://shop.example.com/a.jpg',
    'file:///etc/passwd',
    'not an address',
  ]
  expect(await checkImages(links)).toEqual({ checked: 0, broken: [] })
  expect(server.asked).toEqual([])
})

test('a run notes the broken links of a sample; without the option, and for private links, nothing is requested', async () => {
  await using server = await images()
  await using engine = await engineUnderTest()
  const yaml = (more: string) => `source: { url: "{folder}/feed.csv" }\ndestination: { kind: catalog, catalog_id: "4001" }\n${more}`
  const row = (id: string, path: string) =>
    `${id},Shirt,About ${id},in stock,new,10.00 EUR,https://shop.example.com/${id},${server.url}${path},Acme\n`
  engine.write(
    'feed.csv',
    `id,title,description,availability,condition,price,link,image_link,brand\n${row('A1', '/1.jpg')}${row('A2', '/404.jpg')}${row('A3', '/3.jpg')}`,
  )
  const notes = async () =>
    (await engine.db.query<{ warnings: { code: string; message: string }[] }>('select warnings from run order by id desc limit 1'))[0]
      ?.warnings
  engine.pipeline('shop', yaml(''))
  await engine.run('shop')
  engine.pipeline('shop', yaml('options: { image_sample: 20 }\n'))
  // The links have addresses of this machine, so the run requests none of them.
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  expect(server.asked).toEqual([])

  // An apply checks the sample too, by the setting of its plan.
  const stages = async () =>
    (
      await engine.db.query<{ names: string[] | null }>(
        `select array(select s ->> 'stage' from jsonb_array_elements(stages) s) as names from run order by id desc limit 1`,
      )
    )[0]?.names
  expect(await stages()).toContain('images')
  await engine.apply((await engine.plan('shop', { full: true })).planId)
  expect(await stages()).toContain('images')
  engine.pipeline('shop', yaml(''))
  await engine.apply((await engine.plan('shop', { full: true })).planId)
  expect(await stages()).not.toContain('images')

  const [destination] = await engine.db.query<{ id: number }>('select id from destination')
  const { deps } = engine
  const id = await requestRun(deps.db, { pipeline: 'shop', destinationId: destination?.id ?? 0, trigger: 'manual', options: {} })
  const claimed = await claimRun(deps.db, id ?? 0, { workerId: deps.workerId, leaseMs: 60_000, fence: deps.service })
  if (typeof claimed === 'string') throw new Error(claimed)
  await warnOfBrokenImages(deps, claimed, 20, (links) => checkImages(links, { allowPrivate: true, requestMs: 30_000, totalMs: 60_000 }))
  expect(await notes()).toEqual([
    expect.objectContaining({ code: 'IMAGE_BROKEN', message: '1 of 3 image links checked by sample is broken: A2 (answer 404)' }),
  ])
  // A failed check is only logged.
  await warnOfBrokenImages(deps, claimed, 20, () => Promise.reject(new Error('no network')))
  expect(await notes()).toHaveLength(1)
})

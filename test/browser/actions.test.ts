/** Every action by keyboard, from the link of an alert to approved deletes, and without script. */
import { describe, expect, test } from 'vitest'
import { catalogDigest } from '../support/digests.ts'
import type { EngineUnderTest } from '../support/engine.ts'
import { startServer, startWorkerOf, type ServerUnderTest } from '../support/server.ts'
import { loadRun } from '../../src/sync/reports/history.ts'
import { products, expectedProduct } from '../integration/acceptance/products.ts'
import { feedOf, shop, withheldShop } from './shop.ts'
import { chromiumPath, sharedBrowser, tabTo } from './support.ts'

async function served(engine: EngineUnderTest): Promise<{ readonly server: ServerUnderTest } & AsyncDisposable> {
  const server = await startServer(engine)
  const worker = await startWorkerOf(engine)
  return {
    server,
    async [Symbol.asyncDispose]() {
      await worker.stop()
      await server[Symbol.asyncDispose]()
    },
  }
}

const actionsOf = (engine: EngineUnderTest) =>
  engine.db.query(`select actor, what, detail ->> 'reason' as reason from audit where pipeline = 'shop' order by id`)

describe.skipIf(chromiumPath === undefined)(`actions (need Chromium: apt-get install chromium)`, () => {
  const browser = sharedBrowser()

  test(
    'from the link of the alert to approved deletes in three steps: open, type the number, approve',
    { tags: ['long'], timeout: 60_000 },
    async () => {
      const { engine, planId } = await withheldShop()
      await using _ = engine
      await using up = await served(engine)
      await using tab = await browser.open()
      const { page } = tab
      await page.goto(`${up.server.url}/plans/${planId}`)
      await tabTo(page, '#number')
      await page.keyboard.type('19')
      await page.keyboard.press('Enter')
      // A wrong number starts nothing.
      await page.getByText('Type 20 to approve. Nothing was deleted.').waitFor()
      await tabTo(page, '#number')
      await page.keyboard.type('20')
      await page.keyboard.press('Tab')
      await page.keyboard.type('summer is over')
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/runs\/r_3$/)
      await page.locator('.badge', { hasText: 'Succeeded' }).first().waitFor({ timeout: 20_000 })
      expect(await loadRun(engine.db, 'r_3')).toMatchObject({ status: 'succeeded', counts: { deletes: 20, withheld: 0 } })
      expect((await engine.sandbox.control.catalog()).digest).toBe(
        catalogDigest(products(40).map((row) => expectedProduct({ ...row, title: `New ${row.title}` }))),
      )
      expect(await actionsOf(engine)).toEqual([{ actor: 'jane', what: 'deletes.approved', reason: 'summer is over' }])
      expect(await page.getByText('“summer is over”').count()).toBe(1)
      // The page of the plan does not offer it again, and a form sent from an old tab is rejected.
      await page.goto(`${up.server.url}/plans/${planId}`)
      expect(await page.locator('#number').count()).toBe(0)
      const old = await up.server.call('POST', `/plans/${planId}/approve`, {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'number=20&digest=x',
      })
      expect(old.status).toBe(409)
      // The wrong number was answered with 422, which the console reports.
      expect(tab.problems.filter((problem) => !problem.includes('422'))).toEqual([])
    },
  )

  test(
    'run, pause, resume, full refresh, cancel and rerun by keyboard, each with its name in the audit log',
    { tags: ['long'], timeout: 60_000 },
    async () => {
      await using engine = await shop()
      await using server = await startServer(engine)
      await using tab = await browser.open()
      const { page } = tab
      const pipeline = `${server.url}/pipelines/shop`
      await page.goto(pipeline)
      await tabTo(page, 'form[action$="/run"] button')
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/runs\/r_1$/)
      await page.getByText('Waits for a worker').waitFor()
      await tabTo(page, 'form[action$="/cancel"] button')
      await page.keyboard.press('Space')
      await page.locator('.badge', { hasText: 'Cancelled' }).first().waitFor()

      await page.goto(pipeline)
      await tabTo(page, '#more summary')
      await page.keyboard.press('Enter')
      await tabTo(page, '#pause-reason')
      await page.keyboard.type('feed is rebuilt')
      await page.keyboard.press('Enter')
      await page.locator('.notice', { hasText: 'Paused by jane' }).waitFor()
      await tabTo(page, 'form[action$="/resume"] button')
      await page.keyboard.press('Enter')
      await page.locator('form[action$="/run"] button').waitFor()

      await tabTo(page, '#more summary')
      await page.keyboard.press('Enter')
      await tabTo(page, '#full-name')
      await page.keyboard.type('shop')
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/runs\/r_2$/)
      expect(await page.getByText('full refresh').count()).toBeGreaterThan(0)
      // The open page says what the queued run waits for.
      await server.call('POST', '/api/pipelines/shop/pause')
      await page.locator('.notice', { hasText: 'Waits until shop is resumed' }).waitFor({ timeout: 5_000 })
      await server.call('POST', '/api/pipelines/shop/resume')
      await page.getByText('Waits for a worker').waitFor({ timeout: 5_000 })
      await server.call('POST', '/api/runs/r_2/cancel')

      // The refused operations are sent again.
      await engine.sandbox.control.fault(
        { method: 'PUT', path: '/12/product_catalogs' },
        { kind: 'status', status: 400, body: { errors: [{ code: 'NO', message: 'no' }] } },
        'always',
      )
      const { runId } = await engine.run('shop')
      await page.goto(`${server.url}/runs/${runId}`)
      await tabTo(page, 'form[action$="/rerun"] button')
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/runs\/r_4$/)
      expect(await page.getByText('rerun').count()).toBeGreaterThan(0)
      expect((await actionsOf(engine)).map(({ what, reason }) => [what, reason])).toEqual([
        ['run.requested', null],
        ['run.cancelled', null],
        ['pipeline.paused', 'feed is rebuilt'],
        ['pipeline.resumed', null],
        ['run.requested', null],
        ['pipeline.paused', null],
        ['pipeline.resumed', null],
        ['run.cancelled', null],
        ['run.requested', null],
      ])
      expect(tab.problems).toEqual([])
    },
  )

  test('one record is looked up by keyboard, and its key is in no address', { tags: ['long'] }, async () => {
    await using engine = await shop()
    await using server = await startServer(engine)
    await engine.run('shop')
    await using tab = await browser.open()
    const { page } = tab
    const urls: string[] = []
    page.on('request', (request) => urls.push(request.url()))
    await page.goto(`${server.url}/records`)
    await tabTo(page, '#key')
    await page.keyboard.type('SKU-7')
    await page.keyboard.press('Enter')
    await page.locator('#answer', { hasText: /^Live: confirmed/ }).waitFor()
    expect(urls.join()).not.toContain('SKU-7')
    await tabTo(page, '#key')
    await page.keyboard.type('BAD-1')
    await page.keyboard.press('Enter')
    await page.locator('#answer', { hasText: /Not live: .*rejected/ }).waitFor()
  })

  test('pages and forms work without script', async () => {
    await using engine = await shop()
    await using server = await startServer(engine)
    await engine.run('shop')
    await using tab = await browser.open({ javaScriptEnabled: false })
    const { page } = tab
    await page.goto(server.url)
    await page.getByRole('link', { name: 'shop' }).first().click()
    await page.getByText('Show as table').first().click()
    await page.getByRole('cell', { name: 'r_1' }).first().waitFor()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.waitForURL(/\/runs\/r_2$/)
    await page.getByRole('button', { name: 'Cancel run' }).click()
    await page.locator('.badge', { hasText: 'Cancelled' }).first().waitFor()
    await page.goto(`${server.url}/runs/r_1/rejects`)
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download CSV' }).click()])
    expect(download.suggestedFilename()).toBe('rejects-r_1.csv')
  })

  test('what a feed says is text on every page, never markup or script', { tags: ['long'] }, async () => {
    await using engine = await shop()
    await using server = await startServer(engine)
    const evil = `"><script>globalThis.xss=1</script><img src=x onerror="globalThis.xss=1">'`
    const text = evil.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
    // Puts the text into every field of good items and of a rejected item. The id of the rejected item has markup too.
    const spoiled = (id: string, price: string) =>
      `<item>${['title', 'description', 'brand', 'mpn', 'product_type', 'color'].map((name) => `<g:${name}>${text}</g:${name}>`).join('')}<g:id>${id}</g:id><g:link>https://shop.example.com/${id.length}</g:link><g:image_link>https://shop.example.com/1.jpg</g:image_link><g:price>${price}</g:price><g:availability>in_stock</g:availability><g:condition>new</g:condition></item>`
    engine.write('feed.xml', feedOf(5, [spoiled('EVIL-1', '5 EUR'), spoiled(`2${text}`, '5 EUR'), spoiled(text, text)]))
    const { runId, planId } = await engine.run('shop')
    await using tab = await browser.open()
    for (const path of [
      '/',
      '/pipelines/shop',
      `/runs/${runId}`,
      `/runs/${runId}/rejects`,
      `/plans/${planId}`,
      '/batches/1',
      '/pipelines/%3Cscript%3Exss',
      '/runs/%22%3E%3Cimg%20src=x%3E',
    ]) {
      await tab.page.goto(server.url + path)
      expect(
        await tab.page.evaluate(() => [(globalThis as { xss?: unknown }).xss, document.querySelectorAll('main script, main img').length]),
        path,
      ).toEqual([undefined, 0])
    }
    await tab.page.goto(`${server.url}/records`)
    await tab.page.locator('#key').fill(evil)
    await tab.page.keyboard.press('Enter')
    await tab.page.locator('#answer').waitFor()
    expect(await tab.page.evaluate(() => (globalThis as { xss?: unknown }).xss)).toBeUndefined()
    expect(tab.problems.filter((problem) => !problem.includes('404'))).toEqual([])
  })
})

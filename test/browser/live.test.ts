/** Open pages that update: runs, a killed server, many tabs. */
import { describe, expect, test } from 'vitest'
import { startServer, startWorkerOf } from '../support/server.ts'
import { shop } from './shop.ts'
import { chromiumPath, sharedBrowser, tabTo } from './support.ts'

describe.skipIf(chromiumPath === undefined)(`live pages (need Chromium: apt-get install chromium)`, () => {
  const browser = sharedBrowser()

  test('a run that starts and ends elsewhere is shown within two seconds, without a reload', { tags: ['long'] }, async () => {
    await using engine = await shop()
    await using server = await startServer(engine)
    await using tab = await browser.open()
    const { page } = tab
    await page.goto(server.url)
    await page.evaluate(() => ((globalThis as { stays?: boolean }).stays = true))
    await page.locator('.badge', { hasText: 'No runs yet' }).waitFor()
    await engine.sandbox.control.fault({ path: '/12/product_catalogs' }, { kind: 'delay', ms: 3_000 }, 1)
    const run = engine.run('shop')
    await page.locator('.badge', { hasText: 'Running' }).waitFor({ timeout: 3_000 })
    await run
    await page.locator('.badge', { hasText: 'Succeeded' }).waitFor({ timeout: 2_000 })
    expect(await page.locator('#announce').textContent()).toContain('shop: Succeeded')
    expect(await page.evaluate(() => (globalThis as { stays?: boolean }).stays)).toBe(true)
    expect(tab.problems).toEqual([])
  })

  test('the page of a run and its row in the list of runs show the result when the run ends', { tags: ['long'] }, async () => {
    await using engine = await shop()
    await using server = await startServer(engine)
    await server.call('POST', '/api/pipelines/shop/runs')
    await using tab = await browser.open()
    const { page } = tab
    const list = await page.context().newPage()
    await Promise.all([page.goto(`${server.url}/runs/r_1`), list.goto(`${server.url}/pipelines/shop`)])
    await page.getByText('Waits for a worker').waitFor()
    expect(await list.locator('tr#r_1').textContent()).not.toContain('nothing sent')
    const worker = await startWorkerOf(engine)
    try {
      await page.locator('.facts', { hasText: /took .*plan p_/s }).waitFor({ timeout: 20_000 })
      await page.locator('#notes').waitFor({ timeout: 5_000 })
      await list.bringToFront()
      await list.locator('tr#r_1', { hasText: '60 confirmed' }).waitFor({ timeout: 5_000 })
      expect(tab.problems).toEqual([])
    } finally {
      await worker.stop()
    }
  })

  test('a number that is being typed is kept during updates; newer runs are offered as a link', { tags: ['long'] }, async () => {
    await using engine = await shop()
    await using server = await startServer(engine)
    await engine.run('shop')
    await using tab = await browser.open()
    const { page } = tab
    await page.goto(`${server.url}/pipelines/shop`)
    await page.locator('#more summary').click()
    await page.locator('#full-name').fill('sho')
    await engine.run('shop')
    await page.locator('#newer', { hasText: '1 newer run' }).waitFor()
    expect(await page.locator('#full-name').inputValue()).toBe('sho')
    expect(await page.locator('tr#r_2').count()).toBe(0)
    await page.locator('#newer').click()
    await page.locator('tr#r_2').waitFor()
  })

  test('a link that has the focus does not stop the updates around it, and keeps the focus', { tags: ['long'] }, async () => {
    await using engine = await shop()
    await using server = await startServer(engine)
    await using tab = await browser.open()
    const { page } = tab
    await page.goto(server.url)
    await tabTo(page, 'a.name')
    await engine.run('shop')
    await page.locator('.badge', { hasText: 'Succeeded' }).waitFor({ timeout: 5_000 })
    expect(await page.evaluate(() => document.activeElement?.matches('a.name'))).toBe(true)
    // The button that had the focus is gone, so its part has the focus.
    const { json } = await server.call('POST', '/api/pipelines/shop/runs')
    await page.goto(`${server.url}/runs/${json.runId}`)
    await tabTo(page, 'form[action$="/cancel"] button')
    await server.call('POST', `/api/runs/${json.runId}/cancel`)
    await page.locator('.actions button', { hasText: 'Run now' }).waitFor({ timeout: 5_000 })
    expect(await page.evaluate(() => document.activeElement?.matches('[data-live=actions]'))).toBe(true)
  })

  test('a table that scrolls sideways keeps the focus and its place during updates', async () => {
    await using engine = await shop()
    await using server = await startServer(engine)
    await engine.run('shop')
    await using tab = await browser.open({ viewport: { width: 360, height: 640 } })
    const { page } = tab
    await page.goto(`${server.url}/runs/r_1`)
    const requests = page.getByRole('group', { name: 'Latest requests' })
    await requests.focus()
    await requests.evaluate((one) => (one.scrollLeft = 20))
    await engine.db.execute(`update attempt set duration_ms = 7000`)
    await server.call('POST', '/api/pipelines/shop/pause')
    await requests.getByText('7.0 s').first().waitFor({ timeout: 10_000 })
    expect(await requests.evaluate((one) => [one === document.activeElement, one.scrollLeft])).toEqual([true, 20])
  })

  test('a part that Tab reaches is still reached after an update gave it the focus', async () => {
    await using engine = await shop()
    let receivers: readonly string[] = []
    await using server = await startServer(engine, { deps: { receivers: async () => receivers } })
    await using tab = await browser.open()
    const { page } = tab
    await page.goto(`${server.url}/system`)
    await page.locator('[data-live=alerts] pre').focus()
    receivers = ['ops']
    await engine.run('shop')
    const alerts = page.locator('[data-live=alerts]', { hasText: 'Nothing was sent yet to ops' })
    await alerts.waitFor({ timeout: 5_000 })
    expect(await alerts.evaluate((one) => [one === document.activeElement, one.tabIndex])).toEqual([true, 0])
  })

  test('a button below the pointer is not replaced by another one', async () => {
    await using engine = await shop()
    await using server = await startServer(engine)
    const { json } = await server.call('POST', '/api/pipelines/shop/runs')
    await using tab = await browser.open()
    const { page } = tab
    await page.goto(`${server.url}/runs/${json.runId}`)
    await page.locator('form[action$="/cancel"] button').hover()
    await server.call('POST', `/api/runs/${json.runId}/cancel`)
    await page.locator('.badge', { hasText: 'Cancelled' }).waitFor({ timeout: 5_000 })
    expect(await page.locator('form[action$="/cancel"] button').count()).toBe(1)
    await page.mouse.move(0, 0)
    await page.locator('.actions button', { hasText: 'Run now' }).waitFor({ timeout: 5_000 })
  })

  test('the page of a killed server says so, and recovers when it is back', { tags: ['long'], timeout: 40_000 }, async () => {
    await using engine = await shop()
    const first = await startServer(engine)
    await using tab = await browser.open()
    const { page } = tab
    await page.goto(first.url)
    await first[Symbol.asyncDispose]()
    await page.locator('#lost', { hasText: /The server does not answer.*\d\d:\d\d:\d\d UTC/ }).waitFor({ timeout: 10_000 })
    await using second = await startServer(engine, { port: first.port })
    const worker = await startWorkerOf(engine)
    try {
      await second.call('POST', '/api/pipelines/shop/runs')
      await page.locator('#lost').waitFor({ state: 'hidden', timeout: 15_000 })
      await page.locator('.badge', { hasText: 'Succeeded' }).waitFor({ timeout: 15_000 })
    } finally {
      await worker.stop()
    }
  })

  test('an open page says when its session has ended', async () => {
    await using engine = await shop()
    await using server = await startServer(engine, { access: { host: '0.0.0.0', token: 'correct-horse' } })
    await using tab = await browser.open()
    const { page } = tab
    await page.goto(server.url)
    await page.locator('#token').fill('correct-horse')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Pipelines' }).waitFor()
    await page.context().clearCookies()
    await page.locator('#lost', { hasText: 'You are signed out' }).waitFor({ timeout: 10_000 })
  })

  test('twelve tabs all load and stay up to date', { tags: ['long'] }, async () => {
    await using engine = await shop()
    await using server = await startServer(engine)
    await using first = await browser.open()
    const context = first.page.context()
    const tabs = [first.page, ...(await Promise.all(Array.from({ length: 11 }, () => context.newPage())))]
    await Promise.all(tabs.map((tab) => tab.goto(server.url)))
    await engine.run('shop')
    for (const tab of tabs.slice(-2)) {
      await tab.bringToFront()
      await tab.locator('.badge', { hasText: 'Succeeded' }).waitFor({ timeout: 5_000 })
    }
  })
})

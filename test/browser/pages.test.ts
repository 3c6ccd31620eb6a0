/** Every page by axe, at 320 pixels, light and dark, empty, full and in error. */
import { describe, expect, test } from 'vitest'
import { catalogYaml, engineUnderTest } from '../support/engine.ts'
import { startServer } from '../support/server.ts'
import { item, products, rss } from '../integration/acceptance/products.ts'
import { shop, shopOfBatches, withheldShop } from './shop.ts'
import { axeFindings, chromiumPath, sharedBrowser } from './support.ts'

describe.skipIf(chromiumPath === undefined)(`pages (need Chromium: apt-get install chromium)`, () => {
  const browser = sharedBrowser()

  async function check(url: string, paths: readonly string[]): Promise<readonly string[]> {
    const found: string[] = []
    // The test adds the script of axe to the page, which the policy of the page forbids.
    await using tab = await browser.open({ bypassCSP: true })
    const { page } = tab
    const add = (path: string, scheme: string, findings: readonly string[]) =>
      found.push(...findings.map((finding) => `${path} ${scheme} ${finding}`))
    for (const path of paths) {
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize({ width: 1180, height: 800 })
      await page.goto(url + path)
      add(path, 'light', await axeFindings(page))
      // Colours do not change the document, so one load is enough, and the second check covers only the colours.
      await page.emulateMedia({ colorScheme: 'dark' })
      add(path, 'dark', await axeFindings(page, 'colours'))
      // Nor do they change the layout.
      await page.setViewportSize({ width: 320, height: 640 })
      add(path, 'narrow', await axeFindings(page, 'narrow'))
      const width = await page.evaluate(() => document.scrollingElement?.scrollWidth ?? 0)
      if (width > 320) found.push(`${path} is ${width} px wide at 320 px`)
    }
    // A missing page answers 404, which the console reports.
    found.push(...tab.problems.filter((problem) => !problem.includes('404')))
    return found
  }

  test('axe finds nothing on pages of a new installation', { tags: ['long'] }, async () => {
    await using engine = await engineUnderTest()
    await using server = await startServer(engine)
    expect(await check(server.url, ['/', '/records', '/system', '/runs/r_1', '/pipelines/none'])).toEqual([])
    await using guarded = await startServer(engine, { access: { host: '0.0.0.0', token: 'correct-horse' } })
    expect(await check(guarded.url, ['/sign-in'])).toEqual([])
    engine.pipeline('shop', 'source: { url: "feed.xml" }\ndestination: { kind: catalog, catalog_id: "4001" }\n')
    expect(await check(server.url, ['/', '/pipelines/shop'])).toEqual([])
  })

  test('axe finds nothing on pages with runs, rejects, plots and withheld deletes', { tags: ['long'] }, async () => {
    const { engine, planId, runId } = await withheldShop()
    await using _ = engine
    await using server = await startServer(engine)
    expect(
      await check(server.url, [
        '/',
        '/pipelines/shop',
        `/runs/${runId}`,
        `/runs/${runId}/rejects`,
        `/plans/${planId}`,
        '/records',
        '/system',
      ]),
    ).toEqual([])
  })

  test('long names and texts stay within the page, and axe finds nothing on them', { tags: ['long'] }, async () => {
    await using engine = await shop()
    const name = `l${'o'.repeat(98)}g`
    const word = 'W'.repeat(400)
    await using server = await startServer(engine, {
      deps: { examine: async () => [{ check: 'token', state: 'failed', message: word, hint: `sluice ${word}` }] },
    })
    engine.pipeline(name, catalogYaml('long.xml').replace('4001', '4002'))
    engine.write('long.xml', rss(products(3).map((row) => item(row))))
    const error = { code: 'INVALID_PARAMETER', message: word }
    await engine.sandbox.control.fault(
      { method: 'PUT', path: '/12/product_catalogs' },
      { kind: 'status', status: 400, body: { errors: [error] } },
      'always',
    )
    const { runId, planId } = await engine.run(name)
    await server.call('POST', `/api/pipelines/${name}/pause`, { body: { reason: word } })
    expect(await check(server.url, ['/', '/system', `/pipelines/${name}`, `/runs/${runId}`, `/plans/${planId}`, '/batches/1'])).toEqual([])
  })

  test('a long name does not hide the states of all pipelines', async () => {
    await using engine = await shop()
    await using server = await startServer(engine)
    engine.pipeline(`l${'o'.repeat(98)}g`, catalogYaml('long.xml').replace('4001', '4002'))
    await using tab = await browser.open()
    await tab.page.goto(server.url)
    const state = await tab.page.locator('tbody .badge').first().boundingBox()
    expect((state?.x ?? 0) + (state?.width ?? 0)).toBeLessThan(1180)
    const bars = await tab.page.getByRole('columnheader', { name: 'Last 30 runs' }).boundingBox()
    expect((bars?.x ?? 0) + (bars?.width ?? 0)).toBeLessThan(1180)
  })

  test('text from right to left keeps its place: the value before, then the value after', async () => {
    await using engine = await shop()
    await using server = await startServer(engine)
    const write = (title: string) => engine.write('feed.xml', rss(products(1).map((row) => item({ ...row, title }))))
    write('חולצה')
    await engine.run('shop')
    write('מכנסיים')
    const { planId } = await engine.run('shop')
    await using tab = await browser.open()
    await tab.page.goto(`${server.url}/plans/${planId}`)
    const [before, after] = [await tab.page.locator('del').boundingBox(), await tab.page.locator('ins').boundingBox()]
    expect(before?.x).toBeLessThan(after?.x ?? 0)
  })

  test('axe finds nothing on pages of failures, invalid files, pauses and runs in progress', { tags: ['long'] }, async () => {
    const { engine, runId } = await withheldShop()
    await using _ = engine
    await using server = await startServer(engine, {
      deps: {
        examine: async () => [
          { check: 'token', state: 'failed', message: 'SLUICE_ACCESS_TOKEN rejected', hint: 'sluice auth login' },
          { check: 'clock', state: 'warning', message: '40 s from the service' },
        ],
      },
    })
    engine.pipeline('gone', 'source: { url: "{folder}/gone.csv" }\ndestination: { kind: catalog, catalog_id: "4002" }\n')
    await engine.run('gone')
    engine.pipeline('broken', 'source: { url: 7 }\n')
    await server.call('POST', '/api/pipelines/shop/pause', { body: { reason: 'feed is rebuilt' } })
    await engine.db.execute(
      `update run set status = 'running', finished_at = null, progress = '{"stage":"push","done":30,"total":60,"refused":1,"stageStartedAt":"2026-01-01T00:00:00Z","at":"2026-01-01T00:00:10Z"}' where id = $1`,
      [Number(runId.slice(2))],
    )
    expect(
      await check(server.url, [
        '/',
        '/pipelines/shop',
        '/pipelines/gone',
        '/runs/r_3',
        `/runs/${runId}`,
        '/runs/r_3/rejects',
        '/system',
        '/plans/none',
      ]),
    ).toEqual([])
  })

  test(
    'axe finds nothing on pages of batches and product sets: waiting, unresolved, split, refused and confirmed',
    { tags: ['long'] },
    async () => {
      const { engine, paths } = await shopOfBatches()
      await using _ = engine
      await using server = await startServer(engine)
      expect(await check(server.url, paths)).toEqual([])
    },
  )

  test('from a run to the answer of one product by keyboard and without script', { tags: ['long'] }, async () => {
    const { engine, refusedRun } = await shopOfBatches()
    await using _ = engine
    await using server = await startServer(engine)
    await using tab = await browser.open({ javaScriptEnabled: false })
    await tab.page.goto(`${server.url}/runs/${refusedRun}`)
    await tab.page.locator('a[href^="/batches/"]').first().focus()
    await tab.page.keyboard.press('Enter')
    await tab.page.waitForURL(/\/batches\/\d+$/)
    await tab.page
      .getByRole('cell', { name: /INVALID_PARAMETER/ })
      .first()
      .waitFor()
    await tab.page.getByRole('link', { name: /^Plan/ }).focus()
    await tab.page.keyboard.press('Enter')
    await tab.page.waitForURL(/\/plans\//)
    await tab.page
      .getByRole('link', { name: /^Batch/ })
      .first()
      .waitFor()
  })

  test('rate limits of two services fit on the page System, with their figures beside them', async () => {
    await using engine = await engineUnderTest()
    await using server = await startServer(engine)
    await engine.db.execute(`insert into budget (class, request_limit, window_ms)
      select service || ' user 1001 of application 00f0174ab291 product_deletes', 600, 901000
      from unnest(array['https://ads.service.example.com', 'http://127.0.0.1:47011']) service`)
    await using tab = await browser.open()
    await tab.page.goto(`${server.url}/system`)
    expect(await tab.page.evaluate(() => document.scrollingElement?.scrollWidth ?? 0)).toBeLessThanOrEqual(1180)
    const figure = await tab.page.getByText('0 of 600 requests').first().boundingBox()
    expect(figure?.width).toBeGreaterThan(150)
  })

  test('a first load is small: at most 60 kB and 8 requests, nothing from another host', async () => {
    const { engine } = await withheldShop()
    await using _ = engine
    await using server = await startServer(engine)
    await using tab = await browser.open()
    const answers: { readonly url: string; readonly size: Promise<number> }[] = []
    tab.page.on('response', (answer) =>
      answers.push({
        url: answer.url(),
        size: answer
          .request()
          .sizes()
          .then((sizes) => sizes.responseBodySize),
      }),
    )
    await tab.page.goto(`${server.url}/pipelines/shop`, { waitUntil: 'networkidle' })
    await tab.page.evaluate(() => (document.body.dataset['poll'] = ''))
    expect(answers.length).toBeLessThanOrEqual(8)
    expect(answers.filter(({ url }) => !url.startsWith(server.url))).toEqual([])
    const sizes = await Promise.all(answers.map(({ size }) => size))
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(60_000)
    expect(await tab.page.locator('figure canvas').count()).toBe(5)
  })
})

/** A real Chromium on a real server. Without Chromium the tests are skipped by name: `apt-get install chromium`. */
import { existsSync } from 'node:fs'
import axe from 'axe-core'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'

export const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path))

/** One browser for all tests of a file. */
export function sharedBrowser(): { readonly open: (options?: BrowserContextOptions) => Promise<OpenPage> } {
  let browser: Browser | undefined
  beforeAll(async () => {
    if (chromiumPath === undefined) return
    browser = await chromium.launch({
      executablePath: chromiumPath,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    })
  })
  afterAll(() => browser?.close())
  return {
    async open(options = {}) {
      if (browser === undefined) throw new Error('the browser is not open yet')
      const context = await browser.newContext({ viewport: { width: 1180, height: 800 }, ...options })
      const page = await context.newPage()
      const problems: string[] = []
      page.on('pageerror', (error) => problems.push(error.message))
      page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
      page.on('dialog', (dialog) => {
        problems.push(`dialog: ${dialog.message()}`)
        void dialog.dismiss()
      })
      return { page, problems, [Symbol.asyncDispose]: () => context.close() }
    },
  }
}

export interface OpenPage extends AsyncDisposable {
  readonly page: Page
  /** Errors of scripts, of the content security policy, and dialogs. */
  readonly problems: string[]
}

const rulesOf = {
  all: undefined,
  colours: ['color-contrast', 'link-in-text-block'],
  // On a narrow screen, more tables scroll.
  narrow: ['scrollable-region-focusable', 'target-size'],
}

/** Findings of axe on the page: rule and element. `rules`: all, those about colours, or those about narrow screens. */
export async function axeFindings(page: Page, rules: keyof typeof rulesOf = 'all'): Promise<readonly string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  return page.evaluate(async (runOnly) => {
    const { violations } = await (
      globalThis as unknown as {
        axe: { run: (options: object) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }> }
      }
    ).axe.run({ resultTypes: ['violations'], ...(runOnly === undefined ? {} : { runOnly }) })
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary?.slice(0, 200) ?? ''}`),
    )
  }, rulesOf[rules])
}

/** Presses Tab until the element has the focus, as users without a mouse do. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate((desired) => document.activeElement?.matches(desired) ?? false, selector)) return
  }
  throw new Error(`Tab never reaches ${selector}`)
}

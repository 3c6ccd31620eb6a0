/**
 * Takes screenshots of the dashboard for the docs: the three days of the demo, then a feed that lost 30 % of its products. Needs Chromium.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path))
if (executablePath === undefined) throw new Error('Chromium is missing: apt-get install chromium')
const images = join(import.meta.dirname, '../docs/images')
mkdirSync(images, { recursive: true })

const demo = spawn(process.execPath, [join(import.meta.dirname, '../bin/sluice.js'), 'demo', '--keep'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const text = await printed(/Ctrl-C stops/)
  const url = /the dashboard +(\S+)/.exec(text)?.[1] ?? ''
  const folder = /the pipelines +(\S+)/.exec(text)?.[1] ?? ''
  const feed = join(folder, 'data/catalog.xml')
  const items = readFileSync(feed, 'utf8').split(/(?=<item>)/)
  const tail = items.at(-1)?.replace(/^[^]*<\/item>/, '') ?? ''
  writeFileSync(feed, items.slice(0, Math.ceil(items.length * 0.7)).join('') + tail)
  const answer = await fetch(`${url}/api/pipelines/demo-catalog/runs?wait=30`, { method: 'POST', body: '{"reason":"spring feed"}' })
  const { runId } = (await answer.json()) as { runId: string }
  const { planId } = (await (await fetch(`${url}/api/runs/${runId}`)).json()) as { planId: string }

  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] })
  const shoot = async (name: string, path: string, options: { readonly dark?: boolean; readonly height?: number } = {}) => {
    const page: Page = await browser.newPage({
      viewport: { width: 1120, height: options.height ?? 720 },
      colorScheme: options.dark ? 'dark' : 'light',
    })
    await page.goto(url + path, { waitUntil: 'load' })
    await page.screenshot({ path: join(images, `${name}.png`) })
    await page.close()
    console.log(`docs/images/${name}.png`)
  }
  await shoot('now', '/', { height: 660 })
  await shoot('run', '/runs/r_5', { height: 900 })
  await shoot('plan', `/plans/${planId}`, { height: 760 })
  await shoot('pipeline-dark', '/pipelines/demo-catalog', { dark: true, height: 900 })
  await browser.close()
} finally {
  demo.kill('SIGINT')
}

function printed(pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    demo.stdout.on('data', (chunk) => {
      text += String(chunk)
      if (pattern.test(text)) resolve(text)
    })
    setTimeout(() => reject(new Error(`the demo did not print ${String(pattern)}:\n${text.slice(-2000)}`)), 90_000).unref()
    demo.once('exit', () => reject(new Error(`the demo ended early:\n${text.slice(-2000)}`)))
  })
}

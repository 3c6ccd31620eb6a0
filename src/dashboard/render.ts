/**
 * Answers with pages. The ETag of a page is computed without loading the page. It changes with the stored data, the assets, the version,
 * the user and the address, and every 15 seconds.
 */
import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import type { ServerEnv } from '../api/access.ts'
import { loadPagesDigest } from '../sync/reports/overview.ts'
import { assetUrl } from './assets.ts'
import type { ServerDeps } from './deps.ts'
import { html } from './html.ts'
import { layout, type Page } from './layout.ts'

/** Maximum age of a page in milliseconds. Ages such as "12 min ago" and pipeline files change while the stored data stays the same. */
const freshForMs = 15_000

/**
 * Answers 304 if the ETag equals the `If-None-Match` of the request, else with the page that `load` returns. Only a GET with status 200 has
 * an ETag.
 */
export async function render(
  deps: ServerDeps,
  c: Context<ServerEnv>,
  load: (now: number) => Promise<Page>,
  status: 200 | 404 | 409 | 422 = 200,
): Promise<Response> {
  const now = deps.clock.now()
  const { actor } = c.get('caller')
  const versionParts = [
    await loadPagesDigest(deps.db),
    Math.floor(now / freshForMs),
    assetUrl('style.css'),
    assetUrl('client.js'),
    deps.version,
    actor ?? '',
    c.req.url,
  ]
  // A weak ETag: pages of one version have the same content, but may differ in bytes.
  const etag = `W/"${createHash('sha1').update(JSON.stringify(versionParts)).digest('base64url')}"`
  // The answer to a POST may contain a record that the user searched.
  c.header('cache-control', c.req.method === 'POST' ? 'no-store' : 'no-cache, private')
  if (c.req.method === 'GET' && status === 200) {
    c.header('etag', etag)
    if (c.req.header('if-none-match') === etag) return c.body(null, 304)
  }
  const page = await load(now)
  const credentials = page.credentials === deps.service.credentials ? undefined : page.credentials
  const frame = { version: deps.version, service: new URL(page.service ?? deps.service.origin), credentials, actor, etag, now }
  return c.html(await withCompleteCommands(String(await layout(page, frame)), deps.completeHint), status)
}

/** Returns the document with the global options of this process in the commands of its texts. */
async function withCompleteCommands(document: string, complete: ServerDeps['completeHint']): Promise<string> {
  if (complete === undefined) return document
  const command = 'sluice run'
  const options = complete(command).slice(command.length)
  const escaped = String(await html`${options}`)
  return document.replace(/(?<=>)[^<>]*\bsluice [^<]*/g, (text) =>
    text.includes(escaped) ? text : complete(text).replaceAll(options, () => escaped),
  )
}

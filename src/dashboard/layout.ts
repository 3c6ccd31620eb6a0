/** Renders the frame of every page: head, navigation, footer. */
import { isLoopback } from '../loopback.ts'
import { assetUrl } from './assets.ts'
import { clockTime, html, none, raw, type Html } from './html.ts'

/** Page without the frame that all pages share. */
export interface Page {
  readonly title: string
  /** Text that screen readers announce when it changes: a state, never the progress of a run. */
  readonly state?: string
  /** Entry of the navigation to mark as current. */
  readonly current?: 'now' | 'records' | 'system'
  /** Links to the pages between the page Now and this one, the topmost first; undefined for a page of the navigation. */
  readonly crumbs?: readonly (readonly [text: string, href: string])[]
  readonly body: Html
  /** Address of the service that the pipeline of the page writes to. Absent: that of the environment. */
  readonly service?: string
  /** Application and user of the page's pipeline. Absent: those of the environment. */
  readonly credentials?: string
  /** Poll interval of the page in milliseconds; undefined for a page that does not change on its own. */
  readonly pollMs?: number
  /** True to load the library that draws plots. */
  readonly hasPlots?: boolean
}

/** Values of the frame that all pages share: header and footer. */
export interface Frame {
  readonly version: string
  /** Address of the service; undefined to show none. */
  readonly service: URL | undefined
  /** Application and user of the page's pipeline, if the environment has others; else undefined. */
  readonly credentials?: string | undefined
  /** Name of the user; undefined if the user may only read. */
  readonly actor: string | undefined
  /** ETag of the page. The browser sends it when it polls for changes. Empty for a page that is not polled. */
  readonly etag: string
  /** Time of the page in milliseconds since 1970. */
  readonly now: number
}

const logo = raw(
  '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="currentColor"/><path d="M8 7v18M24 7v18" stroke="var(--accent-text)" stroke-width="2.6" stroke-linecap="round"/><path d="M12 9h8v6h-8z" fill="var(--accent-text)"/><path d="M11 20c1.7-1.6 3.3-1.6 5 0s3.3 1.6 5 0M11 24.4c1.7-1.6 3.3-1.6 5 0s3.3 1.6 5 0" fill="none" stroke="var(--accent-text)" stroke-width="2.2" stroke-linecap="round" opacity=".75"/></svg>',
)

const links = [
  ['now', 'Now', '/'],
  ['records', 'Records', '/records'],
  ['system', 'System', '/system'],
] as const

/** Renders the whole document of a page. */
export function layout(page: Page, frame: Frame): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${page.title} · Sluice</title>
        <link rel="icon" href="${assetUrl('icon.svg')}" type="image/svg+xml" />
        <link rel="stylesheet" href="${assetUrl('style.css')}" />
        ${
          page.hasPlots
            ? html`<link rel="stylesheet" href="${assetUrl('uplot.css')}" />
                <script defer src="${assetUrl('uplot.js')}"></script>`
            : none
        }
        <script defer src="${assetUrl('client.js')}"></script>
      </head>
      <body data-etag="${frame.etag}" data-poll="${page.pollMs ?? ''}" data-state="${page.state ?? ''}">
        <a class="skip" href="#main">Skip to content</a>
        <header class="bar">
          <div>
            <a class="brand" href="/">${logo}Sluice</a>
            <nav aria-label="Main">
              ${links.map(([id, text, href]) => html`<a href="${href}" ${id === page.current ? raw(' aria-current="page"') : none}>${text}</a>`)}
            </nav>
            ${frame.service === undefined ? none : html`<p class="service">${serviceText(frame.service)}${frame.credentials === undefined ? none : html` <span>${frame.credentials}</span>`}</p>`}
          </div>
        </header>
        <div class="lost" id="lost" role="alert" hidden></div>
        <p class="sr" id="announce" role="status"></p>
        <main id="main" tabindex="-1">
          ${
            page.crumbs === undefined
              ? none
              : html`<nav aria-label="Breadcrumb">
                  <ol class="crumbs">
                    ${([['Now', '/'], ...page.crumbs] as const).map(([text, href]) => html`<li><a href="${href}">${text}</a></li>`)}
                  </ol>
                </nav>`
          }
          ${page.body}
        </main>
        <footer>
          <p>Sluice ${frame.version}</p>
          <p>${frame.actor === undefined ? 'read-only' : `acting as ${frame.actor}`}</p>
          <p data-live="asof">as of ${clockTime(frame.now)}</p>
        </footer>
      </body>
    </html>`
}

/** Renders the address of a service. An address on this machine is marked as local. */
export function serviceText({ hostname, host }: URL): Html {
  return html`${isLoopback(hostname) ? html`<span class="chip">local</span> ` : none}<span>${host}</span>`
}

/** Renders and reads the forms of actions. Each is a plain POST, so that it works without scripts. */
import type { Context } from 'hono'
import { UsageError } from '../errors.ts'
import { html, none, type Html } from './html.ts'

/** Returns the text fields of the form; a missing field is undefined. @throws {UsageError} `INVALID_VALUE` if the body is not a form */
export async function readForm(c: Context): Promise<Readonly<Record<string, string | undefined>>> {
  const fields = await c.req.parseBody().catch(() => {
    throw new UsageError('INVALID_VALUE', 'the form cannot be read. Nothing was done.', {
      where: 'body',
      hint: 'open the page again, and send its form',
    })
  })
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? value : undefined]))
}

/** Renders a button that posts to `action`. */
export function actionButton(action: string, text: string, options: { readonly primary?: boolean } = {}): Html {
  return html`<form method="post" action="${action}"><button${options.primary ? html` class="primary"` : none}>${text}</button></form>`
}

/** Renders the optional field `reason`. */
export function reasonField(id: string, placeholder = ''): Html {
  return html`<label for="${id}"
    >Reason <span class="hint">optional, kept in the audit log</span
    ><input id="${id}" name="reason" maxlength="500" autocomplete="off" placeholder="${placeholder}"
  /></label>`
}

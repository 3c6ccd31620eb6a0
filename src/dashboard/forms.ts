/** Renders the forms of actions. Each is a plain POST, so that it works without scripts. */
import { html, none, type Html } from './html.ts'

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

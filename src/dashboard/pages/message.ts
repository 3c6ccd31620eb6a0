/** Pages with a single message, and the sign-in page. */
import { hintOf, html, none, notice } from '../html.ts'
import type { Page } from '../layout.ts'

/** Builds a page with a single message. `hint`: a command or a sentence. */
export function messagePage(title: string, text: string, hint?: string): Page {
  return {
    title,
    crumbs: [],
    body: html`<h1>${title}</h1>
      ${notice(
        'warn',
        html`<p>${text}</p>
          ${hintOf(hint)}`,
      )}
      <p><a class="button" href="/">Back to Now</a></p>`,
  }
}

/** Builds the sign-in page. `next`: path to open after the sign-in. `problem`: reason why the last sign-in failed. */
export function signInPage(next: string, problem?: string): Page {
  return {
    title: 'Sign in',
    body: html`<h1>Sign in</h1>
      ${problem === undefined ? none : notice('fail', html`<p>${problem}</p>`)}
      <form class="card pad form" method="post" action="/sign-in">
        <input type="hidden" name="next" value="${next}" /><label for="token"
          >API token <span class="hint">the value of SLUICE_API_TOKEN on the server</span
          ><input id="token" name="token" type="password" required autocomplete="current-password"
        /></label>
        <div><button class="primary">Sign in</button></div>
      </form>`,
  }
}

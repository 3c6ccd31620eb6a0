/** Renders the pages on which a user allows or denies access to an application (spec 4.1). Escapes every value of a request. */
import type { RequestToken } from './state.ts'

/** Fields of the authorization form that are not parameters of the API. The form sends them in the query. */
export const PAGE_FIELDS: readonly string[] = ['decision', 'password']

export interface AuthorizationPage {
  readonly token: RequestToken
  /** Path to which the form is sent. */
  readonly path: string
  /** Handle that the form shows first. */
  readonly screenName: string
  /** True if the form has a field for a password, which the sandbox does not check. */
  readonly forceLogin: boolean
  /** True if no user has the handle. The page then shows an error. */
  readonly isUnknownUser: boolean
}

export function authorizationPage({ token, path, screenName, forceLogin, isUnknownUser }: AuthorizationPage): string {
  const password = forceLogin ? '<p><label>Password <input type="password" name="password" autocomplete="off"></label></p>' : ''
  return htmlPage(
    'Authorize the application',
    `<p>The application wants to ${token.access === 'read' ? 'read' : 'read and change'} what this account can access.</p>
<form method="get" action="${escapeHtml(path)}">
<input type="hidden" name="oauth_token" value="${escapeHtml(token.token)}">${forceLogin ? '\n<input type="hidden" name="force_login" value="true">' : ''}
${isUnknownUser ? '<p role="alert">There is no user with this handle.</p>\n' : ''}<p><label>Handle <input name="screen_name" value="${escapeHtml(screenName)}"></label></p>${password}
<button name="decision" value="allow" id="allow">Allow</button>
<button name="decision" value="deny" id="deny">Deny</button>
</form>`,
  )
}

/** Renders the page with the PIN, for the callback `oob`. The user types the PIN into the application. */
export function pinPage(pin: string): string {
  return htmlPage(
    'Access granted',
    `<p id="code-desc">Type this PIN into the application:</p>\n<p><kbd aria-labelledby="code-desc"><code id="oauth_pin">${escapeHtml(pin)}</code></kbd></p>`,
  )
}

/** Renders the page after Deny, for the callback `oob`. */
export function deniedPage(): string {
  return htmlPage('Access denied', '<p>The application was not given access. You can close this page.</p>')
}

/** Renders the page for a request token that is unknown, or that a user allowed or denied before. */
export function wrongTokenPage(): string {
  return htmlPage('This link does not work', '<p>The request token is unknown or was used before. Start again from the application.</p>')
}

function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>
<body><h1>${title}</h1>
${body}
</body></html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}

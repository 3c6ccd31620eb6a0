/** Sends one alert to one receiver. Reasons of failures never contain an address, because addresses of Slack are secrets. */
import { createHmac } from 'node:crypto'
import querystring from 'node:querystring'
import { createTransport } from 'nodemailer'
import MailComposer from 'nodemailer/lib/mail-composer'
import type { AlertReceiver } from '../pipeline/projectFile.ts'
import { errorCode, recordOf } from '../unknownValue.ts'
import { slackBody, type AlertMessage } from './message.ts'

/** Settings of one attempt. */
export interface SendOptions {
  /** Key of the signatures of webhooks (`SLUICE_ALERT_SECRET`). */
  readonly secret: string | undefined
  /** Timeout of a POST, and of each step of an email. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Addresses that accepted the email in earlier attempts. They do not get it again. An attempt adds those that accept it. */
  readonly accepted?: Set<string>
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number
}

/** Sends the alert once. Returns undefined if the receiver accepted the alert, else the reason. Never rejects. */
export async function sendAlert(receiver: AlertReceiver, message: AlertMessage, options: SendOptions): Promise<string | undefined> {
  try {
    if (receiver.type === 'email') return await sendMail(receiver, message, options)
    return await post(receiver, message, options)
  } catch (error) {
    const { name, cause } = recordOf(error)
    return String(errorCode(cause) ?? errorCode(error) ?? name ?? 'error').slice(0, 60)
  }
}

async function post(receiver: AlertReceiver, message: AlertMessage, options: SendOptions): Promise<string | undefined> {
  if (receiver.url === undefined) return 'no url is set'
  if (receiver.type === 'webhook' && options.secret === undefined) return 'SLUICE_ALERT_SECRET is not set'
  const body = JSON.stringify(receiver.type === 'slack' ? slackBody(message) : message.body)
  const { url, headers } = withoutPassword(receiver.url)
  const answer = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', ...(receiver.type === 'webhook' ? signatureHeader(body, options) : {}) },
    body,
    // Redirects are not followed: if a receiver has moved, its address must be corrected.
    redirect: 'manual',
    signal: AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]),
  })
  await answer.body?.cancel()
  return answer.ok ? undefined : `HTTP ${answer.status}`
}

/**
 * Returns the address without its user and password, and the header with them (RFC 7617). `fetch` rejects an address that has them. Unlike
 * `decodeURIComponent`, `unescape` keeps a `%` that encodes nothing.
 */
function withoutPassword(address: string): { readonly url: URL; readonly headers: Record<string, string> } {
  const url = new URL(address)
  const { username, password } = url
  if (username === '' && password === '') return { url, headers: {} }
  url.username = ''
  url.password = ''
  const pair = Buffer.from(`${querystring.unescape(username)}:${querystring.unescape(password)}`)
  return { url, headers: { authorization: `Basic ${pair.toString('base64')}` } }
}

/**
 * Returns the signature header: HMAC-SHA256 over time and body. With the time, the receiver can detect an old message that is sent again.
 */
function signatureHeader(body: string, { secret = '', now }: SendOptions): Record<string, string> {
  const time = String(Math.floor(now() / 1000))
  return { 'x-sluice-signature': `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}` }
}

async function sendMail(receiver: AlertReceiver, message: AlertMessage, options: SendOptions): Promise<string | undefined> {
  const server = receiver.smtp ?? receiver.url
  if (server === undefined || receiver.to === undefined) return `${server === undefined ? 'smtp' : 'to'} is not set`
  const mail = {
    from: receiver.from ?? 'sluice@localhost',
    to: [receiver.to].flat().join(', '),
    subject: message.subject,
    text: `${message.text}\n\n${message.link}\n${message.environment === '' ? '' : `${message.environment}\n`}`,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  const { from, to: recipients } = new MailComposer(mail).compile().getEnvelope()
  const open = recipients.filter((address) => !options.accepted?.has(address))
  if (recipients.length > 0 && open.length === 0) return undefined
  const transport = createTransport({
    url: server,
    connectionTimeout: options.timeoutMs,
    greetingTimeout: options.timeoutMs,
    socketTimeout: options.timeoutMs,
  })
  try {
    const { accepted, rejectedErrors = [] } = await transport.sendMail({ ...mail, envelope: { from, to: open }, signal: options.signal })
    for (const address of accepted) options.accepted?.add(address)
    return refusalOf(recipients, rejectedErrors)
  } catch (error) {
    const { rejectedErrors } = recordOf(error)
    if (!Array.isArray(rejectedErrors)) throw error
    return refusalOf(recipients, rejectedErrors)
  } finally {
    transport.close()
  }
}

/** Returns which recipients the mail server refused, by position, domain and SMTP code. Undefined if it refused none. */
function refusalOf(recipients: readonly string[], refusals: readonly unknown[]): string | undefined {
  if (refusals.length === 0) return undefined
  const list = refusals.map((refusal) => {
    const { recipient, responseCode } = recordOf(refusal)
    const address = String(recipient)
    return `no. ${recipients.indexOf(address) + 1} (${address.slice(address.lastIndexOf('@') + 1)}, ${Number(responseCode)})`
  })
  return `${list.length} of ${recipients.length} recipients refused: ${list.slice(0, 5).join(', ')}${list.length > 5 ? ' …' : ''}`
}

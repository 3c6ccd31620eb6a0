import { hash } from 'node:crypto'
import type { ServiceIdentity } from './engine.ts'

/** Returns the address and version of the service, and the text that identifies the credentials. */
export function serviceIdentity(service: {
  /** Address of the service. Its path becomes part of `origin`, because two services may share a host. */
  readonly adsBaseUrl: string
  readonly adsVersion: string
  readonly consumerKey: string
  readonly accessToken: string
}): ServiceIdentity {
  const { origin, pathname } = new URL(service.adsBaseUrl)
  return { origin: origin + pathname.replace(/\/+$/, ''), version: service.adsVersion, credentials: credentialsOf(service) }
}

/**
 * Returns a text that identifies the application and the user, without a secret. An access token starts with the id of its user, so the
 * text stays the same for a new token. If the token has no such id, the start of its SHA-256 identifies the user.
 */
export function credentialsOf(service: { readonly consumerKey: string; readonly accessToken: string }): string {
  const user = /^(\d+)-/.exec(service.accessToken)?.[1]
  return `${user === undefined ? `token ${digest(service.accessToken)}` : `user ${user}`} of application ${digest(service.consumerKey)}`
}

const digest = (text: string): string => hash('sha256', text).slice(0, 12)

import { hash } from 'node:crypto'
import type { ServiceIdentity } from './engine.ts'

/** Returns the fields of `ServiceIdentity` from the configuration. */
export function serviceIdentity(service: {
  /** The path of this URL becomes part of `origin`, because two services may share a host. */
  readonly adsBaseUrl: string
  readonly adsVersion: string
  readonly consumerKey: string
  readonly accessToken: string
}): ServiceIdentity {
  const { origin, pathname } = new URL(service.adsBaseUrl)
  return { origin: origin + pathname.replace(/\/+$/, ''), version: service.adsVersion, credentials: credentialsOf(service) }
}

/**
 * Returns a text without secrets that identifies the application and the user: token `42-…` → `user 42 of application …`. A new token of
 * the same user gives the same text. If the token has no user id, the text has the start of its SHA-256 instead.
 */
export function credentialsOf(service: { readonly consumerKey: string; readonly accessToken: string }): string {
  const user = /^(\d+)-/.exec(service.accessToken)?.[1]
  return `${user === undefined ? `token ${digest(service.accessToken)}` : `user ${user}`} of application ${applicationOf(service)}`
}

/** Returns a text without secrets that identifies the application. */
export function applicationOf(service: { readonly consumerKey: string }): string {
  return digest(service.consumerKey)
}

const digest = (text: string): string => hash('sha256', text).slice(0, 12)

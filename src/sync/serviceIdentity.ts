import { hash } from 'node:crypto'
import type { ServiceIdentity } from './engine.ts'

/** Names the service that a command works with, and as whom. */
export function serviceIdentity(service: {
  /** With its path: two services may share a host. */
  readonly adsBaseUrl: string
  readonly adsVersion: string
  readonly consumerKey: string
  readonly accessToken: string
}): ServiceIdentity {
  const { origin, pathname } = new URL(service.adsBaseUrl)
  return { origin: origin + pathname.replace(/\/+$/, ''), version: service.adsVersion, credentials: credentialsOf(service) }
}

/**
 * Names application and user without a secret. An access token begins with its user's id and keeps it when it is made anew,
 * so that changed tokens of the same user change nothing; one of another form stands for itself.
 */
export function credentialsOf(service: { readonly consumerKey: string; readonly accessToken: string }): string {
  const user = /^(\d+)-/.exec(service.accessToken)?.[1]
  return `${user === undefined ? `token ${digest(service.accessToken)}` : `user ${user}`} of application ${digest(service.consumerKey)}`
}

const digest = (text: string): string => hash('sha256', text).slice(0, 12)

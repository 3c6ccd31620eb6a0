/** Hints for refusals: the variable to check, the parameter with its rule, the maximum size. */
import { parameterOf, type Endpoint } from '../contract/endpoint.ts'
import { webhookReasons } from '../contract/webhookResources.ts'
import { describeParameter, describeParameters } from './describeParameter.ts'
import type { ServiceIssue } from './issues.ts'

/** Environment variables with the credentials of the application. */
export const consumerVariables = 'SLUICE_CONSUMER_KEY and SLUICE_CONSUMER_SECRET'
/** Environment variables with the credentials of application and user. */
export const credentialVariables = 'SLUICE_CONSUMER_KEY, SLUICE_CONSUMER_SECRET, SLUICE_ACCESS_TOKEN and SLUICE_ACCESS_TOKEN_SECRET'

/** Hints by the reason at the beginning of a message of the webhook endpoints. */
const webhookHints: Readonly<Record<(typeof webhookReasons)[number], string>> = {
  CrcValidationFailed:
    'Let a receiver answer at that address first, with the same SLUICE_CONSUMER_SECRET: sluice webhooks listen, or sluice serve.',
  UrlValidationFailed:
    'Use an https address without a port, of at most 200 characters. The sandbox accepts http on loopback with its switch webhook_dev_urls on.',
  DuplicateUrlFailed: 'It is registered already: sluice webhooks list.',
  WebhookLimitExceeded: 'Remove one first: sluice webhooks list, then sluice webhooks remove ID.',
  WebhookIdInvalid: 'Use an id of the list: sluice webhooks list.',
}

/**
 * Returns the hint for a refused request. If a message begins with a webhook reason, returns the hint of that reason. Otherwise describes
 * the parameters that the service named. If it named none, lists all parameters of the endpoint.
 */
export function parameterHint(endpoint: Endpoint, issues: readonly ServiceIssue[]): string {
  const reason = webhookReasons.find((one) => issues.some(({ message }) => message.startsWith(`${one}:`)))
  if (reason !== undefined) return webhookHints[reason]
  const named = describeNamed(endpoint, issues)
  return named.length > 0 ? named.join('. ') : describeParameters(endpoint)
}

/** Returns a description of each parameter that the service named. For a name outside the contract, lists all parameters instead. */
export function describeNamed(endpoint: Endpoint, issues: readonly ServiceIssue[]): readonly string[] {
  const named = [...new Set(issues.flatMap(({ parameter }) => (parameter === undefined || parameter === '' ? [] : [parameter])))]
  return named.map((name) => describeParameter(endpoint, name) ?? `${name} is not known here; ${describeParameters(endpoint)}`)
}

/** Returns the hint for a refused batch. It names up to five failing entries, by their index from 0, and describes their parameters. */
export function batchHint(endpoint: Endpoint, issues: readonly ServiceIssue[]): string {
  const entries = [
    ...new Set(
      issues.flatMap(({ index, parameter }) =>
        index === undefined ? [] : [parameter === undefined ? `entry ${index}` : `${parameter} of entry ${index}`],
      ),
    ),
  ]
  const about = issues.flatMap(({ parameter }) => (parameter === undefined ? [] : (describeParameter(endpoint, parameter) ?? [])))
  const hint = `Nothing of the batch was applied. Correct or remove ${entries.slice(0, 5).join(', ')}${entries.length > 5 ? ` and ${entries.length - 5} more` : ''}.`
  return [hint, ...new Set(about)].join(' ')
}

export function notFoundHint(endpoint: Endpoint, issues: readonly ServiceIssue[]): string {
  if (issues.some(({ code }) => code === 'ROUTE_NOT_FOUND'))
    return 'No endpoint has this path: check version and path against docs/coverage.md.'
  const names = [...new Set(issues.flatMap(({ parameter }) => (parameter === undefined || parameter === '' ? [] : [parameter])))]
  const deleted = parameterOf(endpoint, 'with_deleted') !== undefined ? '; deleted records are found only with with_deleted=true' : ''
  return `Check ${names.length > 0 ? names.join(' and ') : 'the ids in the path'}: there is no such record, or it is deleted${deleted}.`
}

/** Returns the hint for an invalid token. `isAppOnly`: true if the request was sent with an app-only token. */
export function tokenHint(isAppOnly: boolean): string {
  return isAppOnly
    ? `A new app-only token is needed: sluice auth bearer (${consumerVariables}).`
    : 'Sign in again: sluice auth login, then set SLUICE_ACCESS_TOKEN and SLUICE_ACCESS_TOKEN_SECRET.'
}

/** Returns the hint to split a request, with its limits if the contract has any. */
export function sizeHint({ bodyLimit }: Endpoint): string {
  const parts = [
    bodyLimit?.entries === undefined ? '' : `${bodyLimit.entries} entries`,
    bodyLimit?.bytes === undefined ? '' : `${bodyLimit.bytes} bytes`,
  ].filter((part) => part !== '')
  return `Split the request${parts.length === 0 ? '' : `: at most ${parts.join(' and ')}`}.`
}

/** Returns the name of the environment variable with the address of the endpoint's host. */
export function hostVariable({ host }: Endpoint): string {
  return host === 'core' ? 'SLUICE_BASE_URL' : host === 'ads' ? 'SLUICE_ADS_BASE_URL' : 'SLUICE_ADS_SANDBOX_BASE_URL'
}

/** Endpoints of the settings of an account and its users. Outside the specification: official SDKs call them. */
import type { Endpoint } from './endpoint.ts'
import { taxSettingsNames, userSettingsNames } from './outsideResources.ts'
import { accountId, path, query, sentBySdks } from './parameter.ts'

const account = '/12/accounts/:account_id'
const source = 'outside the specification: official SDKs read and save it'
const shared = { host: 'ads', auth: 'user', repeatable: true, outsideSpec: true, source } as const
const text = <const Name extends string>(name: Name) => query(name, 'string', { maxLength: 255, unsettable: true, ...sentBySdks })

export const settingsEndpoints = [
  {
    name: 'userSettings.get',
    method: 'GET',
    path: `${account}/user_settings/:user_id`,
    body: 'none',
    parameters: [accountId, path('user_id')],
    answer: { resource: 'userSettings', many: false },
    limit: 'account_reads',
    ...shared,
  },
  {
    name: 'userSettings.update',
    method: 'PUT',
    path: `${account}/user_settings/:user_id`,
    body: 'form',
    parameters: [
      accountId,
      path('user_id'),
      ...userSettingsNames.map(text),
      query('subscribed_email_types', 'csv', { unsettable: true, ...sentBySdks }),
    ],
    answer: { resource: 'userSettings', many: false },
    limit: 'ads_writes',
    ...shared,
  },
  {
    name: 'taxSettings.get',
    method: 'GET',
    path: `${account}/tax_settings`,
    body: 'none',
    parameters: [accountId],
    answer: { resource: 'taxSettings', many: false },
    limit: 'account_reads',
    ...shared,
  },
  {
    name: 'taxSettings.update',
    method: 'PUT',
    path: `${account}/tax_settings`,
    body: 'form',
    parameters: [accountId, ...taxSettingsNames.map(text)],
    answer: { resource: 'taxSettings', many: false },
    limit: 'ads_writes',
    ...shared,
  },
  {
    name: 'authenticatedUserAccess.get',
    method: 'GET',
    path: `${account}/authenticated_user_access`,
    body: 'none',
    parameters: [accountId],
    answer: { resource: 'userAccess', many: false },
    limit: 'account_reads',
    ...shared,
  },
] as const satisfies readonly Endpoint[]

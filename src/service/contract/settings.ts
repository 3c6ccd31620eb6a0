/** Endpoints of the settings of an account and its users, and of their permissions. Outside the specification: official SDKs call them. */
import { accountPath, readRequest, updateRequest, type Endpoint } from './endpoint.ts'
import { taxSettingsNames, userSettingsNames } from './outsideResources.ts'
import { accountId, query, sentBySdks } from './parameter.ts'
import { recordsOfAccount } from './recordEndpoints.ts'

const source = 'outside the specification: official SDKs read and save it'
const shared = { outsideSpec: true, source } as const
const text = <const Name extends string>(name: Name) => query(name, 'string', { maxLength: 255, unsettable: true, ...sentBySdks })

const userSettings = recordsOfAccount('userSettings', 'user_settings', 'user_id', 'userSettings')

export const settingsEndpoints = [
  { ...userSettings.get([]), ...shared },
  {
    ...userSettings.update([...userSettingsNames.map(text), query('subscribed_email_types', 'csv', { unsettable: true, ...sentBySdks })]),
    ...shared,
  },
  {
    name: 'taxSettings.get',
    ...readRequest,
    path: `${accountPath}/tax_settings`,
    parameters: [accountId],
    answer: { resource: 'taxSettings', many: false },
    ...shared,
  },
  {
    name: 'taxSettings.update',
    ...updateRequest,
    path: `${accountPath}/tax_settings`,
    parameters: [accountId, ...taxSettingsNames.map(text)],
    answer: { resource: 'taxSettings', many: false },
    ...shared,
  },
  {
    name: 'authenticatedUserAccess.get',
    ...readRequest,
    path: `${accountPath}/authenticated_user_access`,
    parameters: [accountId],
    answer: { resource: 'userAccess', many: false },
    ...shared,
  },
] as const satisfies readonly Endpoint[]

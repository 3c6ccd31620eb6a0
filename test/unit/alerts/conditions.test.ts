import { expect, test } from 'vitest'
import { isAboutCredentials } from '../../../src/alerts/conditions.ts'

test.for([
  ['CREDENTIALS_REFUSED', 'the service refuses SLUICE_ACCESS_TOKEN', true],
  ['DESTINATION_PAUSED', 'UNAUTHORIZED_CLIENT_APPLICATION: The client application does not have access to this API', true],
  ['DESTINATION_PAUSED', '220: Your credentials do not allow access to this resource', true],
  ['DESTINATION_PAUSED', 'ERROR: Forbidden', true],
  ['DESTINATION_PAUSED', 'INVALID_PARAMETER: 64 requests in a row were refused: unauthorized credentials in field name', false],
  ['DESTINATION_PAUSED', '2200: not about access', false],
  ['DESTINATION_PAUSED', 'NOT_FOUND: no such audience', false],
  ['SOURCE_UNREADABLE', 'UNAUTHORIZED: the store refuses the key', false],
] as const)('%s with "%s" is about credentials: %s', ([code, message, expected]) => {
  expect(isAboutCredentials({ code, message })).toBe(expected)
})

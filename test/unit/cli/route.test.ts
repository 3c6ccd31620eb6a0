import { expect, test } from 'vitest'
import { routeOf } from '../../../src/cli/commands/api/route.ts'

test.for([
  ['/12/accounts/x/new_resource', 'ads'],
  ['/2/lists/1', 'core'],
  ['/1.1/new.json', 'core'],
  ['/oauth/new', 'core'],
] as const)('an undocumented path %s is called on the host %s', ([path, host]) => {
  expect(routeOf('GET', path)).toEqual({ endpoint: undefined, host, auth: 'user' })
})

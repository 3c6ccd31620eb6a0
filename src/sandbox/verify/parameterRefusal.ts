import type { Endpoint } from '../../service/contract/endpoint.ts'
import { adsRefusals, v2ParameterRefusals, callbackRefusal, coreRefusal, type AdsError, type Refusal } from '../refusal.ts'
import { textOf } from '../text.ts'
import { bearerRefusal } from './authenticate.ts'

/** Returns the refusal for wrong parameters in the form of the endpoint's host (docs/spec-notes.md#errors). */
export function parameterRefusal(endpoint: Endpoint, errors: readonly AdsError[]): Refusal {
  // One error has the status of its code, several have 400.
  if (endpoint.host !== 'core') return adsRefusals(errors, errors.length > 1 ? 400 : undefined)
  if (endpoint.path.startsWith('/2/'))
    return v2ParameterRefusals(errors.map(({ parameter, value, message }) => ({ name: parameter ?? '', value: textOf(value), message })))
  if (endpoint.name.startsWith('oauth2.')) return bearerRefusal()
  if (endpoint.name === 'oauth.requestToken' && errors[0]?.parameter === 'oauth_callback') return callbackRefusal()
  if (endpoint.name === 'oauth.accessToken' && errors[0]?.code === 'MISSING_PARAMETER')
    return coreRefusal(401, 32, 'Could not authenticate you.')
  return coreRefusal(400, 214, `Bad request parameters: ${errors.map((error) => error.message).join('; ')}`)
}

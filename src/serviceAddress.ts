import { isLoopback } from './loopback.ts'

/**
 * Returns what is wrong with an address of the service, with a hint; undefined for a valid address. `name`: variable or setting of the
 * address.
 */
export function serviceAddressFault(value: string, name: string): { readonly message: string; readonly hint: string } | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const hint = `set ${name} to an address such as http://127.0.0.1:4010`
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) return { message: 'is not an http(s) address', hint }
  if (url.username !== '' || url.password !== '')
    return { message: 'contains a user name or password', hint: `keep credentials out of ${name}` }
  if (url.search !== '' || url.hash !== '') return { message: 'contains a query or fragment', hint }
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return {
      message: 'is plain http to another machine: credentials and members would be sent unencrypted',
      hint: `use https in ${name}`,
    }
  return undefined
}

/** Returns true for `localhost` and addresses of loopback. `hostname`: as `URL.hostname` has it, with brackets around an IPv6 address. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

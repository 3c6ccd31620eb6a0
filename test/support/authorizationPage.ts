/** A user at the sandbox's authorization page: opens it and submits its form. */

/** Sends the form with the decision. Returns the answer, and follows no redirect. */
export async function allowed(address: string, decision: 'allow' | 'deny' = 'allow'): Promise<Response> {
  const page = await (await fetch(address)).text()
  const target = new URL(/<form[^>]*action="([^"]*)"/.exec(page)?.[1] ?? '', address)
  for (const [tag] of page.matchAll(/<input type="hidden"[^>]*>/g))
    target.searchParams.set(/name="([^"]*)"/.exec(tag)?.[1] ?? '', /value="([^"]*)"/.exec(tag)?.[1] ?? '')
  target.searchParams.set('decision', decision)
  return fetch(target, { redirect: 'manual' })
}

export function pinOf(page: string): string {
  return /id="oauth_pin">([^<]+)</.exec(page)?.[1] ?? ''
}

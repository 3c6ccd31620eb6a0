/** Another writer with the same rights, who changes the catalog of the sandbox. */
import { expect } from 'vitest'
import type { EngineUnderTest } from './engine.ts'

const path = '/12/product_catalogs/4001/products'

export async function putBehind(
  engine: Pick<EngineUnderTest, 'sandbox'>,
  ...products: readonly Readonly<Record<string, unknown>>[]
): Promise<void> {
  for (let at = 0; at < products.length; at += 25) {
    const answer = await engine.sandbox.call('PUT', path, { json: { products: products.slice(at, at + 25) } })
    const results = answer.body.data.products_response as readonly { readonly status: string }[]
    expect(results.filter(({ status }) => status === 'ERROR')).toEqual([])
  }
}

export async function removeBehind(engine: Pick<EngineUnderTest, 'sandbox'>, ...ids: readonly string[]): Promise<void> {
  const keys = (await engine.sandbox.control.products()).filter(({ id }) => ids.includes(id)).map((product) => product.product_key)
  expect(keys).toHaveLength(ids.length)
  expect((await engine.sandbox.call('DELETE', path, { json: { product_keys: keys } })).status).toBe(200)
}

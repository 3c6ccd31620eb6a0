/**
 * The sandbox reports callers that do not keep the order of a key's values, and no others (docs/guarantees.md#key-order,
 * docs/guarantees.md#idempotent-resend).
 */
import { Agent, get } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { product } from '../support/product.ts'
import { sha256 } from '../support/digests.ts'
import { type CallResult } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'
import { authorization } from '../support/signer.ts'

let shiftMs = 0
const sandbox = sharedSandbox({ clock: { ...systemClock, now: () => Date.now() + shiftMs } })
beforeEach(() => {
  shiftMs = 0
})

const timestamp = (): number => Math.floor((Date.now() + shiftMs) / 1000)
/** `a=10` is product a at 10 EUR. */
const put = (...prices: string[]): Promise<CallResult | undefined> =>
  sandbox
    .call('PUT', '/12/product_catalogs/4001/products', {
      timestamp: timestamp(),
      json: { products: prices.map((one) => product(one.split('=')[0] ?? '', { price: `${one.split('=')[1]}.00 EUR` })) },
    })
    .catch(() => undefined)
/** `ann+amy ben` are two users, the first with two addresses. */
const users = (
  type: 'Update' | 'Delete',
  names: string,
  expires = '2035-01-01T00:00:00Z',
  together = false,
): Promise<CallResult | undefined> => {
  const list = names.split(' ').map((name) => ({ email: name.split('+').map(sha256) }))
  const params = type === 'Delete' ? {} : { expires_at: expires }
  return sandbox
    .call('POST', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users', {
      timestamp: timestamp(),
      json: together
        ? [{ operation_type: type, params: { ...params, users: list } }]
        : list.map((user) => ({ operation_type: type, params: { ...params, users: [user] } })),
    })
    .catch(() => undefined)
}
const keyOf = async (price: string): Promise<string> => String((await put(price))?.body.data.products_response[0].product_key)
const remove = (...keys: string[]): Promise<CallResult | undefined> =>
  sandbox
    .call('DELETE', '/12/product_catalogs/4001/products', { timestamp: timestamp(), json: { product_keys: keys } })
    .catch(() => undefined)
/** Leaves out the rule on equal bytes in flight, because these fast tests break it too. */
const rules = async (): Promise<string[]> =>
  (await sandbox.control.violations()).map(({ rule }) => String(rule)).filter((rule) => rule !== 'same_body_at_once')
/** The next write ends without a clear answer. */
const breakNext = (fault: Record<string, unknown> = { kind: 'commit_then_reset' }): Promise<string> =>
  sandbox.control.fault({ path: '/12/' }, fault)

describe('caught', () => {
  test('a newer price before the older one was settled, and the older one after it', async () => {
    await breakNext()
    await put('a=10', 'b=10')
    await put('a=11', 'c=11')
    expect(await rules()).toEqual(['newer_before_older_settled'])
    await put('a=10', 'b=10')
    expect(await rules()).toEqual(['newer_before_older_settled', 'older_after_newer'])
  })
  test.for([
    ['no answer', { kind: 'reset', at: 'after' }],
    ['503', { kind: 'status', status: 503 }],
    ['408', { kind: 'status', status: 408 }],
    ['an answer cut short', { kind: 'truncate', bytes: 10 }],
    ['an orderly end without an answer', { kind: 'close', stage: 'after_apply' }],
  ] as const)('an entry that differs at the next attempt after %s', async ([, fault]) => {
    await breakNext(fault)
    await put('a=10', 'b=10')
    await put('a=10', 'b=11')
    expect(await rules()).toEqual(['entry_differs_between_attempts'])
  })
  test('times filled in at the sending, packed or not', async () => {
    for (const together of [false, true]) {
      await sandbox.control.reset()
      await breakNext()
      await users('Update', 'ann ben', '2035-01-01T00:00:00Z', together)
      await users('Update', 'ann ben', '2035-01-01T00:00:01Z', together)
      expect(await rules()).toEqual(['entry_differs_between_attempts'])
    }
  })
  test('the same fields in another order', async () => {
    await breakNext()
    await put('a=10')
    const { id, ...rest } = product('a', { price: '10.00 EUR' })
    await sandbox.call('PUT', '/12/product_catalogs/4001/products', { json: { products: [{ ...rest, id }] } })
    expect(await rules()).toEqual(['entry_differs_between_attempts'])
  })
  test('a refusal in between settles nothing', async () => {
    await breakNext()
    await put('a=10')
    await breakNext({ kind: 'status', status: 429 })
    await put('a=10')
    await put('a=11')
    expect(await rules()).toEqual(['entry_differs_between_attempts'])
  })
  test('a user added while it is unknown whether they were taken away', async () => {
    await users('Update', 'ann')
    await breakNext()
    await users('Delete', 'ann')
    await users('Update', 'ann', '2036-01-01T00:00:00Z')
    expect(await rules()).toEqual(['newer_before_older_settled'])
  })
  test('a product taken away before its newer price was settled, and written before its removal was', async () => {
    const key = await keyOf('a=10')
    await breakNext()
    await put('a=11')
    await remove(key)
    expect(await rules()).toEqual(['newer_before_older_settled'])
    await sandbox.control.reset()
    const again = await keyOf('a=10')
    await breakNext()
    await remove(again)
    await put('a=11')
    expect(await rules()).toEqual(['newer_before_older_settled'])
  })
  test('a product written and taken away at the same time', async () => {
    const key = await keyOf('a=10')
    await sandbox.control.fault({ method: 'PUT' }, { kind: 'hold', name: 'put' })
    const held = put('a=11')
    await expect.poll(async () => (await sandbox.control.holds()).length, { timeout: 10_000 }).toBe(1)
    await remove(key)
    await sandbox.control.release('put')
    await held
    expect(await rules()).toEqual(['two_in_flight_for_one_key'])
  })
  test('an erased user sent again before the erasure was answered', async () => {
    await breakNext()
    await users('Update', 'ann ben')
    await breakNext({ kind: 'status', status: 429 })
    await users('Delete', 'ann')
    expect(await rules()).toEqual([])
    await users('Update', 'ann ben')
    expect(await rules()).toEqual(['older_after_newer'])
  })
  test('an erased user sent again while it is unknown whether they were erased', async () => {
    await breakNext()
    await users('Update', 'ann ben')
    await breakNext()
    await users('Delete', 'ann')
    expect(await rules()).toEqual([])
    await users('Update', 'ann ben')
    expect(await rules()).toEqual(['newer_before_older_settled'])
  })
  test('an erased user sent again behind the answer, where values never come back', async () => {
    await sandbox.control.switches({ values_recur: 'never' })
    await breakNext()
    await users('Update', 'ann ben')
    await users('Delete', 'ann')
    await users('Update', 'ben')
    expect(await rules()).toEqual([])
    await users('Update', 'ann ben')
    expect(await rules()).toEqual(['older_after_newer'])
  })
  test('an older price after a newer one, both answered, where values never come back', async () => {
    await sandbox.control.switches({ values_recur: 'never' })
    await put('a=10')
    await put('a=11')
    await put('a=11', 'b=10')
    await put('a=10')
    expect(await rules()).toEqual(['older_after_newer'])
  })
})

describe('let pass', () => {
  test.for([undefined, { kind: 'commit_then_reset' }])(
    'a user without an identifier that was erased, whatever its answer: %o',
    async (fault) => {
      await breakNext()
      await users('Update', 'ann+amy ben')
      if (fault !== undefined) await breakNext(fault)
      await users('Delete', 'ann')
      await users('Update', 'amy', '2036-01-01T00:00:00Z')
      expect(await rules()).toEqual([])
      await users('Update', 'ben', '2036-01-01T00:00:00Z')
      expect(await rules()).toEqual(['entry_differs_between_attempts'])
    },
  )
  test.for([undefined, { kind: 'commit_then_reset' }])(
    'the other users of an operation after the erasure of one of them, whatever its answer: %o',
    async (fault) => {
      await breakNext()
      await users('Update', 'ann ben cem', undefined, true)
      if (fault !== undefined) await breakNext(fault)
      await users('Delete', 'ann')
      await users('Update', 'ben cem', '2036-01-01T00:00:00Z', true)
      expect(await rules()).toEqual([])
    },
  )
  test('the same bytes again, as often as it takes, then the newer value', async () => {
    for (let n = 0; n < 3; n++) {
      await breakNext()
      await put('a=10', 'b=10')
    }
    await put('a=10', 'b=10')
    await put('a=11')
    expect(await rules()).toEqual([])
  })
  test('a part of the entries, packed or not, then the newer value of those', async () => {
    for (const together of [false, true]) {
      await breakNext()
      await users('Update', 'ann ben cem', undefined, together)
      await users('Update', 'ann cem', undefined, together)
      await users('Update', 'ann', '2036-01-01T00:00:00Z', together)
      await users('Update', 'ben', undefined, together)
    }
    expect(await rules()).toEqual([])
  })
  test('other keys while some are open', async () => {
    await breakNext()
    await put('a=10')
    await put('b=11')
    expect(await rules()).toEqual([])
  })
  test('a removal sent again until it was answered, then the product or user again', async () => {
    const key = await keyOf('a=10')
    await breakNext()
    await remove(key)
    await remove(key)
    await put('a=10')
    await users('Update', 'ann ben')
    await breakNext()
    await users('Delete', 'ann ben')
    await users('Delete', 'ann')
    await users('Delete', 'ben')
    await users('Update', 'ann ben')
    expect(await rules()).toEqual([])
  })
  test('a value that comes back after it was answered', async () => {
    await put('a=10')
    await put('a=11')
    await put('a=10')
    expect(await rules()).toEqual([])
  })
  test('an erased user who comes back as before once the erasure was answered, packed or not', async () => {
    for (const together of [false, true]) {
      await breakNext()
      await users('Update', 'ann ben', undefined, together)
      await users('Delete', 'ann')
      await breakNext()
      await users('Delete', 'ben')
      await users('Delete', 'ben')
      await users('Update', 'ann ben', undefined, together)
    }
    expect(await rules()).toEqual([])
  })
  test('what lapsed while it was open is planned again', async () => {
    await breakNext()
    await users('Update', 'ann', '2030-01-01T00:00:00Z')
    await sandbox.control.setClock('2030-01-02T00:00:00Z')
    await users('Update', 'ann', '2031-01-01T00:00:00Z')
    expect(await rules()).toEqual([])
  })
  test('a removal, an addition and the removal again, where values never come back', async () => {
    await sandbox.control.switches({ values_recur: 'never' })
    await users('Update', 'ann')
    await users('Delete', 'ann')
    await users('Update', 'ann', '2036-01-01T00:00:00Z')
    await users('Delete', 'ann')
    expect(await rules()).toEqual([])
  })
})

describe('the wait that was asked for', () => {
  /** A signed read over a connection of this agent. */
  const read = (agent: Agent): Promise<number> => {
    const url = `${sandbox.url}/12/product_catalogs`
    return new Promise((resolve, reject) => {
      const headers = { authorization: authorization({ method: 'GET', url, timestamp: timestamp() }) }
      get(url, { agent, headers }, (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0))).on('error', reject)
    })
  }
  const agents: Agent[] = []
  const connection = (): Agent => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    agents.push(agent)
    return agent
  }
  afterEach(() => {
    for (const agent of agents.splice(0)) agent.destroy()
  })

  test('lets pass what may have left before it was read, and nothing later, until it is over', async () => {
    const [limited, other] = [connection(), connection()]
    await sandbox.control.fault({ path: '/12/' }, { kind: 'rate_limit', retry_after: 60 })
    expect(await read(limited)).toBe(429)
    await read(other)
    expect(await rules()).toEqual([])
    shiftMs = 5_000
    await read(other)
    await read(limited)
    expect(await rules()).toEqual(['request_during_retry_after', 'request_during_retry_after'])
    shiftMs = 60_100
    await read(other)
    await read(limited)
    expect(await rules()).toHaveLength(2)
  })
  test('has as much grace as the switch says', async () => {
    await sandbox.control.switches({ retry_after_grace_ms: 0 })
    await sandbox.control.fault({ path: '/12/' }, { kind: 'rate_limit', retry_after: 60 })
    await read(connection())
    shiftMs = 1
    await read(connection())
    expect(await rules()).toEqual(['request_during_retry_after'])
  })
  test('counts what the fault itself refuses', async () => {
    const only = connection()
    await sandbox.control.fault({ path: '/12/' }, { kind: 'rate_limit', retry_after: 60 }, 'always')
    await read(only)
    shiftMs = 5_000
    await read(only)
    expect(await rules()).toEqual(['request_during_retry_after'])
  })
})

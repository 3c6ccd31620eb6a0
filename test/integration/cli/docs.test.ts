/** The commands of docs/sandbox.md work in their order on a fresh sandbox. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withSandbox } from '../../support/sandbox.ts'
import { emptyFolder, sluiceHere } from './support.ts'

const page = readFileSync(new URL('../../../docs/sandbox.md', import.meta.url), 'utf8')
const commands = [...page.matchAll(/`sluice (api [^`]+|auth status|auth bearer|webhooks list)`/g)].map(([, command = '']) => command)

test('every call of docs/sandbox.md that needs no browser succeeds', async () => {
  await using sandbox = await withSandbox()
  const folder = emptyFolder()
  const product = {
    id: 'sku',
    title: 'Mug',
    description: 'Plain',
    availability: 'in stock',
    condition: 'new',
    price: '10.00 USD',
    brand: 'Example',
    link: 'https://shop.example.com/1',
    image_link: 'https://shop.example.com/1.jpg',
  }
  writeFileSync(join(folder, 'products.json'), JSON.stringify({ products: [product] }))
  writeFileSync(
    join(folder, 'users.json'),
    JSON.stringify([
      { operation_type: 'Update', params: { users: [{ email: ['dbf1912b4cad4df9823f627874244e64b50a6ac550b9cb33b17df671a26679db'] }] } },
    ]),
  )
  const { consumerKey, consumerSecret, accessToken, accessTokenSecret } = sandbox.credentials
  const env = {
    SLUICE_BASE_URL: sandbox.url,
    SLUICE_CONSUMER_KEY: consumerKey,
    SLUICE_CONSUMER_SECRET: consumerSecret,
    SLUICE_ACCESS_TOKEN: accessToken,
    SLUICE_ACCESS_TOKEN_SECRET: accessTokenSecret,
  }
  expect(commands.length).toBeGreaterThan(9)
  const failed: unknown[] = []
  for (const command of commands) {
    const { code, stderr } = await sluiceHere(command.split(' '), { cwd: folder, env })
    if (code !== 0) failed.push([command, code, stderr])
  }
  expect(failed).toEqual([])
  expect(await sandbox.control.catalog()).toMatchObject({ products: 1 })
  expect(await sandbox.control.audience()).toMatchObject({ members: 1 })
})

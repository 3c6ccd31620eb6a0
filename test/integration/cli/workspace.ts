import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../../../src/db/database.ts'
import { testDatabase } from '../../support/postgres.ts'
import { withSandbox, type SandboxUnderTest } from '../../support/sandbox.ts'
import { emptyFolder, sluice, sluiceHere, start, type CallOptions, type Outcome } from './support.ts'

/** A folder with pipelines, a database and a sandbox of its own, and the command line in it. */
export interface Workspace extends AsyncDisposable {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  readonly db: Database
  readonly sandbox: SandboxUnderTest
  readonly write: (path: string, content: string) => void
  readonly run: (args: readonly string[], options?: CallOptions) => Promise<Outcome>
  /** As `run`, in this process: for calls whose process is not tested. */
  readonly here: (args: readonly string[], options?: Pick<CallOptions, 'env'>) => Promise<Outcome>
  readonly start: (args: readonly string[], options?: CallOptions) => ReturnType<typeof start>
}

export const shopYaml = 'source: { url: feed.csv }\ndestination: { kind: catalog, catalog_id: "4001" }\n'
export const customersYaml = `source: { url: crm.csv }
map:
  key: customer_id
  email: email
  phone_number: { column: phone, default_country: US }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`

export async function workspace(): Promise<Workspace> {
  const folder = emptyFolder()
  const database = await testDatabase({ mayBeUsed: true })
  const sandbox = await withSandbox()
  const env = {
    DATABASE_URL: database.url,
    SLUICE_BASE_URL: sandbox.url,
    SLUICE_CONSUMER_KEY: sandbox.credentials.consumerKey,
    SLUICE_CONSUMER_SECRET: sandbox.credentials.consumerSecret,
    SLUICE_ACCESS_TOKEN: sandbox.credentials.accessToken,
    SLUICE_ACCESS_TOKEN_SECRET: sandbox.credentials.accessTokenSecret,
  }
  mkdirSync(join(folder, 'pipelines'))
  return {
    folder,
    env,
    db: database.db,
    sandbox,
    write: (path, content) => writeFileSync(join(folder, path), content),
    run: (args, options = {}) => sluice(args, { cwd: folder, ...options, env: { ...env, ...options.env } }),
    here: (args, options = {}) => sluiceHere(args, { cwd: folder, env: { ...env, ...options.env } }),
    start: (args, options = {}) => start(args, { cwd: folder, ...options, env: { ...env, ...options.env } }),
    async [Symbol.asyncDispose]() {
      await sandbox.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

const header = 'id,title,description,link,image_link,price,availability,brand,mpn,condition'

/** A feed of good products `SKU-1` … `SKU-n`, with rows to add or to replace. */
export function feed(products: number, options: { readonly price?: string; readonly rows?: readonly string[] } = {}): string {
  const rows = Array.from({ length: products }, (_, i) => product(i + 1, options.price ?? '19.99 EUR'))
  return `${[header, ...rows, ...(options.rows ?? [])].join('\n')}\n`
}

export function product(n: number, price = '19.99 EUR'): string {
  return `SKU-${n},Shirt ${n},A shirt,https://shop.example.com/${n},https://shop.example.com/${n}.jpg,${price},in stock,Acme,M${n},new`
}

/** The only JSON document of stdout; fails if there is anything else. */
// Tests read documents of every shape; each assertion names the expected values.
// oxlint-disable-next-line typescript/no-explicit-any
export function json(outcome: Outcome): any {
  return JSON.parse(outcome.stdout)
}

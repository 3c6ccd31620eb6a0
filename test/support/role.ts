import { randomBytes } from 'node:crypto'
import pg from 'pg'

export interface TestRole extends AsyncDisposable {
  readonly name: string
  /** The same database as this role. */
  readonly url: string
}

/** Makes a role that may log in, with further options of `create role` and without any right that others do not have. */
export async function roleWith(url: string, options: string): Promise<TestRole> {
  const name = `role_${randomBytes(6).toString('hex')}`
  const admin = async (text: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      await client.query(text)
    } finally {
      await client.end()
    }
  }
  await admin(`create role ${name} login password 'example' ${options}`)
  const parsed = new URL(url)
  parsed.username = name
  parsed.password = 'example'
  return {
    name,
    url: parsed.href,
    async [Symbol.asyncDispose]() {
      await admin(`drop owned by ${name} cascade`)
      await admin(`drop role ${name}`)
    },
  }
}

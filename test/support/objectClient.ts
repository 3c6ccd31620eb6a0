/** A client in the object style of the official SDKs: load a record, change a property, send every property back. */
import type { Endpoint } from '../../src/service/contract/endpoint.ts'
import { authorization } from './signer.ts'
import { readAnswer, type CallResult, type Loose, type SandboxUnderTest } from './sandbox.ts'

export interface Style {
  readonly name: string
  /** Converts a value for the query; undefined: the property is left out. */
  readonly write: (value: unknown) => string | readonly string[] | undefined
}

/** Writes lists with commas and booleans as Python prints them, and leaves out null, false and 0. */
export const joinedLists: Style = {
  name: 'lists with commas, booleans as Python prints them',
  write: (value) => {
    if (value === null || value === false || value === 0) return undefined
    if (Array.isArray(value)) return value.length === 0 ? undefined : value.join(',')
    return value === true ? 'True' : textOf(value)
  },
}

/** Repeats the name for each item of a list, and sends an empty value for null. */
export const repeatedLists: Style = {
  name: 'lists repeated, null as an empty value',
  write: (value) => (value === null ? '' : Array.isArray(value) ? value.map(textOf) : textOf(value)),
}

/** One record of the service, as an object that can be changed and saved. */
export class RemoteObject {
  readonly #sandbox: SandboxUnderTest
  readonly #path: string
  readonly #style: Style
  record: Loose

  constructor(sandbox: SandboxUnderTest, path: string, style: Style) {
    this.#sandbox = sandbox
    this.#path = path
    this.#style = style
  }

  async load(): Promise<Loose> {
    const answer = await send(this.#sandbox, 'GET', this.#path, [['with_deleted', 'True']])
    if (answer.status !== 200) throw new Error(`GET ${this.#path}: ${answer.status} ${answer.text}`)
    this.record = Array.isArray(answer.body.data) ? answer.body.data[0] : answer.body.data
    return this.record
  }

  /** Sends all properties back: in the query, or as a JSON body if the endpoint has one. */
  save(update: Endpoint): Promise<CallResult> {
    if (update.body === 'json') return this.#sandbox.call('PUT', this.#path, { json: this.record })
    return send(this.#sandbox, 'PUT', this.#path, this.pairs())
  }

  /** Returns the properties as parameters of a request. */
  pairs(): readonly (readonly [string, string])[] {
    return Object.entries(this.record as object).flatMap(([name, value]) => {
      const written = this.#style.write(value)
      return written === undefined ? [] : (typeof written === 'string' ? [written] : written).map((text) => [name, text] as const)
    })
  }
}

/** Sends a signed call with its parameters in the query, repeated names included. */
export async function send(
  sandbox: SandboxUnderTest,
  method: string,
  path: string,
  pairs: readonly (readonly [string, string])[],
): Promise<CallResult> {
  const query = new URLSearchParams(pairs as [string, string][]).toString()
  const url = `${sandbox.url}${path}${query === '' ? '' : `?${query}`}`
  return readAnswer(await fetch(url, { method, headers: { authorization: authorization({ method, url }) } }))
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

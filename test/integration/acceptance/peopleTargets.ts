/** Destinations that the histories of people run on: an audience of the sandbox, and the static list of test/support/staticList.ts. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { audienceDigest, email, type Identifier } from '../../support/digests.ts'
import type { EngineUnderTest } from '../../support/engine.ts'
import { fileFaults, linesOf, writer } from '../../support/staticList.ts'

export interface PeopleTarget {
  readonly name: string
  /** `destination:` of its pipeline. */
  readonly yaml: (more?: string) => string
  readonly open: (engine: EngineUnderTest) => Promise<OpenPeopleTarget>
}

export interface OpenPeopleTarget {
  readonly reset: () => Promise<void>
  /** Arms a fault for the `nth` request from now on. `refuse_one`: for every request with one address; the list refuses one request. */
  readonly fault: (kind: string, nth: number) => Promise<void>
  readonly digest: () => Promise<string>
  /** Requests so far that change something. */
  readonly writes: () => Promise<number>
}

/** Digest of an address that `refuse_one` always refuses. */
const [, refusedAddress] = email('a4@example.com')
const refusal = { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } }

/** Returns the fault of the sandbox for a kind of the models. */
export const faultOf = (kind: string): Record<string, unknown> =>
  kind === 'refuse' || kind === 'refuse_one' ? refusal : kind === 'status' ? { kind, status: 503 } : { kind }

export const sandboxAudience: PeopleTarget = {
  name: 'an audience',
  yaml: (more = '') => `destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth${more} }`,
  open: ({ sandbox: { control }, writes }) =>
    Promise.resolve({
      reset: () => Promise.resolve(),
      fault: async (kind, nth) => {
        if (kind === 'refuse_one') await control.fault({ contains_key: refusedAddress }, refusal, 'always')
        else await control.fault({ path: '/12/accounts', nth }, faultOf(kind))
      },
      digest: async () => (await control.audience()).digest,
      writes: async () => (await writes()).filter(({ path }) => path.includes('custom_audiences')).length,
    }),
}

export const staticListTarget: PeopleTarget = {
  name: 'a further type of destination',
  yaml: (more = '') => `destination: { kind: static-list, account_id: 18ce54d4x5t, file: "{folder}/list.txt"${more} }`,
  async open({ folder }) {
    const file = join(folder, 'list.txt')
    return {
      reset: () => Promise.resolve(rmSync(file, { force: true })),
      fault: (kind) => {
        // Each fault of the sandbox becomes a fault of the writer.
        writer.fault = kind === 'refuse_one' ? 'refuse' : (fileFaults.find((one) => one === kind) ?? 'counts')
        return Promise.resolve()
      },
      digest: () => Promise.resolve(audienceDigest(linesOf(file).map(identifierOf))),
      writes: () => Promise.resolve(writer.requests),
    }
  },
}

function identifierOf(line: string): Identifier {
  const [type = '', value = ''] = line.split('\t')
  return [type, value]
}

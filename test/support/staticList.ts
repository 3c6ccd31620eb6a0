/**
 * A further type of destination: people in a file, one identifier per line. It proves that a type is one file and one line, and it runs the
 * histories of the others.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import type { Destination } from '../../src/destinations/destination.ts'
import { registerDestination } from '../../src/destinations/index.ts'
import { membershipSettings, membershipTimes, identifierProblems } from '../../src/destinations/membership.ts'
import { classifyUsers } from '../../src/destinations/userList.ts'
import { memberBinder } from '../../src/mapping/bindMember.ts'
import type { DestinationDefinition, Duration } from '../../src/model/pipeline.ts'
import { identifierTypes } from '../../src/model/record.ts'
import type { Exchange, ExchangeRequest } from '../../src/service/client/exchange.ts'
import { count, id, oneOf, strict, text } from '../../src/settings/values.ts'

interface StaticListDefinition extends DestinationDefinition {
  readonly kind: 'static-list'
  readonly accountId: string
  readonly file: string
  readonly expiresIn: Duration
  readonly renewBefore: Duration
  readonly usersPerOperation: number
  readonly suppress: boolean
}

const settings = strict({
  kind: z.literal('static-list'),
  account_id: id,
  file: text('a path'),
  ...membershipSettings,
  users_per_operation: count(1, 2500).optional(),
  suppress: oneOf(['do-not-reach', 'none']).optional(),
}).transform((given): StaticListDefinition => ({
  kind: 'static-list',
  accountId: given.account_id,
  file: given.file,
  ...membershipTimes(given),
  usersPerOperation: given.users_per_operation ?? 1,
  suppress: given.suppress !== 'none',
}))

const staticList: Destination<StaticListDefinition> = {
  kind: 'static-list',
  settings,
  fields: ['key', ...identifierTypes],
  checkMap: ({ fields }) => identifierProblems(fields, identifierTypes),
  bind: (pipeline, today) =>
    memberBinder(pipeline, today, {
      identifiers: identifierTypes,
      requiresKey: true,
      appliesConsent: true,
      isDoNotReach: false,
      takesEffectiveAt: false,
      sendsBothEmailForms: false,
      expiresIn: pipeline.destination.expiresIn,
    }),
  identity: ({ accountId, file }) => ({ accountId, targetId: file }),
  name: ({ file }) => `static list ${file}`,
  words: { record: 'person', records: 'people', exampleKey: 'jane@example.com' },
  productSets: () => undefined,
  keys: 'identifiers',
  showsRecords: false,
  keyField: 'key',
  missing: () => 'delete',
  guardsDeletes: true,
  deletesNeedRecord: false,
  removesBy: 'key',
  reachesPeople: true,
  suppresses: false,
  appliesSuppression: ({ suppress }) => suppress,
  membership: ({ expiresIn, renewBefore, usersPerOperation }) => ({
    expiresIn,
    renewBefore,
    usersPerOperation,
    takesEffectiveAt: false,
    endsExactly: true,
  }),
  keepsEntries: '30 days',
  probe: ({ file }) => ({ path: file }),
  limits: { entries: 40, bytes: 100_000 },
  limitClass: () => 'catalog_reads',
  request: ({ targetId }) => ({ method: 'POST', path: targetId }),
  frame: () => ({ open: '[', close: ']' }),
  idOf: () => null,
  evidence: 'counts',
  refusedDeleteProvesRemoval: false,
  classify: classifyUsers,
  exchange: (request) => Promise.resolve(write(request)),
}

registerDestination(staticList)

/** Faults of the writer, named as those of the sandbox (docs/faults.md). */
export const fileFaults = [
  'none',
  'counts',
  'commit_then_reset',
  'truncate',
  'html',
  'empty',
  'status',
  'reset',
  'partial_apply',
  'refuse',
] as const
export type FileFault = (typeof fileFaults)[number]

/** Next fault of the writer, its requests so far, and hooks around a request. */
export const writer: { fault: FileFault; requests: number; onRequest: () => void; onAnswer: () => void } = {
  fault: fileFaults.find((one) => one === process.env['STATIC_LIST_FAULT']) ?? 'none',
  requests: 0,
  onRequest: () => undefined,
  onAnswer: () => undefined,
}

export function resetWriter(): void {
  writer.onRequest = () => undefined
  writer.onAnswer = () => undefined
}

/** Lines of a list, sorted: type and value of each identifier. */
export function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
}

const operations = z.array(
  z.object({
    operation_type: z.enum(['Update', 'Delete']),
    params: z.object({ users: z.array(z.record(z.string(), z.array(z.string()))) }),
  }),
)

function write({ path, body }: ExchangeRequest): Exchange {
  writer.onRequest()
  writer.requests++
  const given = operations.parse(JSON.parse(Buffer.from(body ?? []).toString()))
  const { fault } = writer
  writer.fault = 'none'
  if (fault === 'reset') return lost()
  if (fault === 'status') return answer(503, { errors: [{ code: 'SERVICE_UNAVAILABLE', message: 'try again' }] })
  if (fault === 'refuse') return answer(400, { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] })
  const lines = new Set(linesOf(path))
  for (const { operation_type: type, params } of fault === 'partial_apply' ? given.slice(0, given.length / 2) : given)
    for (const line of params.users.flatMap((user) =>
      Object.entries(user).flatMap(([name, values]) => values.map((one) => `${name}\t${one}`)),
    ))
      type === 'Update' ? lines.add(line) : lines.delete(line)
  writeFileSync(
    `${path}.part`,
    [...lines]
      .toSorted()
      .map((line) => `${line}\n`)
      .join(''),
  )
  renameSync(`${path}.part`, path)
  writer.onAnswer()
  if (fault === 'commit_then_reset' || fault === 'partial_apply') return lost()
  if (fault === 'truncate') return { ...lost(), status: 200 }
  if (fault === 'html' || fault === 'empty') return answer(200, fault)
  const users = given.map(({ params }) => params.users.length)
  return answer(200, {
    data: users.map((n, i) => ({ success_count: fault === 'counts' && i === 0 ? n - 1 : n, total_count: n })),
    request: {},
  })
}

function lost() {
  return { kind: 'lost', error: new Error('the writer stopped'), durationMs: 1 } as const
}

function answer(status: number, content: unknown): Exchange {
  const body = Buffer.from(content === 'html' ? '<html>' : content === 'empty' ? '' : JSON.stringify(content))
  return { kind: 'answer', status, headers: { 'content-type': content === 'html' ? 'text/html' : 'application/json' }, body, durationMs: 1 }
}

import { readFileSync } from 'node:fs'
import { UsageError } from '../../errors.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { type ErasedKeys, type Receipt, listReceipts } from '../../db/erasures.ts'
import { exitCodeOfErasures } from '../exitCodes.ts'
import { writeWholeFile } from '../wholeFile.ts'
import { exportErasures, missingErasures, parseExport } from '../../sync/erasure/exportFile.ts'
import { erasedKeysOf, type Person } from '../../sync/erasure/person.ts'
import { forget, forgetAll, suppressOnly } from '../../sync/erasure/forget.ts'
import type { EngineDeps } from '../../sync/engine.ts'
import { serviceIdentity } from '../../sync/serviceIdentity.ts'
import {
  flag,
  listOption,
  option,
  writeJson,
  writeResult,
  type CommandRun,
  type Context,
  type Invocation,
  type Output,
} from '../context.ts'
import { withEngine, type Engine } from '../engine.ts'
import { operator } from '../operator.ts'
import { pipelineNamed, pipelinesNamed } from '../pipelines.ts'
import { credentialSets, serviceOf } from '../services.ts'
import { withStore } from '../store.ts'
import { hintText, instant, plural, safe } from '../terminal/text.ts'
import { destinationOf } from '../../destinations/index.ts'

/** Erases a person, or lists, exports or replays erasures. */
export const run: CommandRun = async (context, invocation) => {
  const person = { emails: listOption(invocation, 'email'), phones: listOption(invocation, 'phone'), keys: listOption(invocation, 'key') }
  const exportFile = option(invocation, 'export')
  const replayFile = option(invocation, 'replay')
  const namesPerson = person.emails.length + person.phones.length + person.keys.length > 0
  const actionCount = [namesPerson, flag(invocation, 'list'), exportFile !== undefined, replayFile !== undefined].filter(Boolean).length
  if (actionCount !== 1) throw selectionError(actionCount)
  if (flag(invocation, 'list')) return listAll(context)
  if (exportFile !== undefined) return exportTo(context, exportFile)
  if (replayFile !== undefined) return replay(context, invocation, replayFile)
  return erase(context, invocation, person)
}

/** Erases one person at one service, and waits until the deletes are sent. With `--no-wait`, only suppresses and plans. */
async function erase(context: Context, invocation: Invocation, person: Person): Promise<number> {
  const name = option(invocation, 'pipeline')
  const pipeline =
    name !== undefined ? await pipelineNamed(context, name) : person.keys.length > 0 ? await onlyAudience(context) : undefined
  if (pipeline !== undefined && !destinationOf(pipeline.destination.kind).reachesPeople)
    throw new UsageError('INVALID_VALUE', `${pipeline.name} is not an audience. Nothing was erased.`, {
      where: '--pipeline',
      hint: 'sluice status   (lists every pipeline)',
    })
  const run = async ({ withProgress }: Engine) => {
    const receipt = await withProgress('forget', async (deps) =>
      forget(deps, await erasedKeysOf(deps, person, pipeline), { ...operator(option(invocation, 'reason')), wait: waits(invocation) }),
    )
    writeResult(context, receipt, receiptText(receipt, person.keys.length, context.stdout))
    return exitCodeOfErasures([receipt], waits(invocation))
  }
  // The erasure is for one service: the service of the pipeline, else of the environment.
  return withEngine(context, run, { credentials: pipeline?.credentials })
}

/** Returns the only audience of the folder. @throws {UsageError} `MISSING_OPTION` if there is none or more than one */
async function onlyAudience(context: Context): Promise<Pipeline> {
  const audiences = (await pipelinesNamed(context, [])).filter(({ destination }) => destinationOf(destination.kind).reachesPeople)
  const [first, ...others] = audiences
  if (first !== undefined && others.length === 0) return first
  if (first === undefined)
    throw new UsageError('MISSING_OPTION', '--key needs an audience, and this folder has none. Nothing was erased.', {
      where: '--key',
      hint: 'sluice forget --email jane@example.com',
    })
  throw new UsageError(
    'MISSING_OPTION',
    `--key needs --pipeline: there are ${audiences.length} audiences, each with customer keys of its own. Nothing was erased.`,
    { where: '--pipeline', hint: `sluice forget --key C-1042 --pipeline ${first.name}` },
  )
}

/**
 * Replays an export: repeats the erasures that this database lacks. At a service that neither the environment nor a pipeline uses, only
 * suppresses. Returns 3 if deletes are not planned or confirmed yet, unless `--no-wait`.
 *
 * @throws {UsageError} `INVALID_VALUE` if the file names services, but neither the environment nor a pipeline uses one of them
 */
async function replay(context: Context, invocation: Invocation, file: string): Promise<number> {
  const reason = option(invocation, 'reason')
  const exported = parseExport(readText(file), file)
  const credentials = await credentialsByService(context)
  const [exportedFrom] = exported.erasures.map(({ service }) => service)
  if (exportedFrom !== undefined && !exported.erasures.some(({ service }) => credentials.has(service)))
    throw new UsageError(
      'INVALID_VALUE',
      `${file} is from ${exportedFrom}, but this environment uses ${[...credentials.keys()].join(', ')}. Nothing was erased.`,
      {
        where: '--replay',
        hint: 'run this command in the environment that the file was exported from',
      },
    )
  const missing = await withStore(context, ({ db }) => missingErasures(db, exported))
  const operatorFor = (id: string) => operator(`replay of ${id}${reason === undefined ? '' : `: ${reason}`}`)
  const replayed: { readonly receipt: Receipt; readonly keyCount: number }[] = []
  const add = (keys: ErasedKeys, receipt: Receipt) => replayed.push({ receipt, keyCount: keys.records.length })
  for (const [service, erasures] of Map.groupBy(missing, (erasure) => erasure.service)) {
    const requests = erasures.map(({ id, keys }) => ({ ...keys, ...operatorFor(id) }))
    const eraseAll = (deps: EngineDeps) => forgetAll(deps, requests, { wait: waits(invocation) })
    if (credentials.has(service)) {
      const run = ({ withProgress }: Engine) => withProgress('forget', eraseAll)
      const receipts = await withEngine(context, run, { credentials: credentials.get(service) })
      receipts.forEach((receipt, index) => {
        const request = requests[index]
        if (request !== undefined) add(request, receipt)
      })
    } else
      await withStore(context, async ({ db }) => {
        for (const { id, keys } of erasures) add(keys, await suppressOnly(db, { ...keys, ...operatorFor(id), service }))
      })
  }
  const receipts = replayed.map(({ receipt }) => receipt)
  if (context.json) writeJson(context, receipts)
  else if (receipts.length === 0) context.stdout.write('Nothing to replay: all erasures of the file are stored.\n')
  else context.stdout.write(replayed.map(({ receipt, keyCount }) => receiptText(receipt, keyCount, context.stdout)).join('\n'))
  return exitCodeOfErasures(receipts, waits(invocation))
}

/**
 * Returns the name of the credentials for each service that the environment or a pipeline uses, by the address of the service. The name is
 * undefined for the credentials of the environment. Leaves out the environment if it has no service and pipelines name credentials.
 */
async function credentialsByService(context: Context): Promise<ReadonlyMap<string, string | undefined>> {
  const sets = await credentialSets(context)
  const credentialsByOrigin = new Map<string, string | undefined>()
  for (const name of sets) {
    if (name === undefined && sets.length > 1 && context.config().service.baseUrl === undefined) continue
    const { origin } = serviceIdentity(await serviceOf(context, name))
    if (!credentialsByOrigin.has(origin)) credentialsByOrigin.set(origin, name)
  }
  return credentialsByOrigin
}

/** Writes the erasures at all services to a file, as digests, for `--replay`. */
async function exportTo(context: Context, path: string): Promise<number> {
  return withStore(context, async ({ db }) => {
    const content = await exportErasures(db, new Date(context.clock.now()))
    writeWholeFile(path, `${JSON.stringify(content)}\n`, { private: true })
    const written = { file: path, erasures: content.erasures.length }
    writeResult(context, written, `${path}: ${plural(written.erasures, 'erasure')}, digests only, mode 0600\n`)
    return 0
  })
}

/** Prints the receipts of erasures at all services, newest first. */
async function listAll(context: Context): Promise<number> {
  return withStore(context, async ({ db }) => {
    const receipts = await listReceipts(db)
    const hasSeveralServices = new Set(receipts.map(({ service }) => service)).size > 1
    if (context.json) writeJson(context, receipts)
    else if (receipts.length === 0)
      context.stdout.write(`No erasures yet.   ${hintText('sluice forget --email ADDRESS', context.stdout)}\n`)
    else context.stdout.write(receipts.map((receipt) => receiptLine(receipt, { service: hasSeveralServices })).join(''))
    return 0
  })
}

/** Returns false with `--no-wait`. */
const waits = (invocation: Invocation): boolean => invocation.options['wait'] !== false

/** Returns the receipt as text. `keyCount`: number of suppressed customer keys. */
function receiptText(receipt: Receipt, keyCount: number, output: Output): string {
  const { deletes, identifiers } = receipt
  const unconfirmed = deletes.planned - deletes.confirmed
  const digests = identifiers === 0 && keyCount > 0 ? [] : [plural(identifiers, 'digest')]
  const suppressed = [...digests, ...(keyCount === 0 ? [] : [plural(keyCount, 'customer key')])].join(' and ')
  return [
    `Erasure ${receipt.id}   ${instant(receipt.erasedAt)}`,
    `  suppressed   ${suppressed}: no run sends them again`,
    receipt.audiences === null ? `  audiences    not searched yet` : `  audiences    ${receipt.audiences}`,
    `  deletes      ${deletes.planned} planned, ${deletes.confirmed} confirmed`,
    `  local data   ${receipt.purgedAt === null ? 'is purged when all deletes are confirmed and no run is active' : 'purged'}`,
    ...(receipt.audiences === null
      ? [
          `hint: ${hintText(`sluice run PIPELINE   (each audience, with credentials of ${receipt.service}: it plans and sends the deletes)`, output)}`,
        ]
      : []),
    ...(unconfirmed === 0
      ? []
      : [`hint: ${hintText(`sluice forget --list   (the next run of each audience sends the other ${unconfirmed})`, output)}`]),
    '',
  ].join('\n')
}

/** Returns the line of an erasure in the list. Its state is `open` until the local data is purged. */
function receiptLine(receipt: Receipt, show: { readonly service: boolean }): string {
  const { deletes } = receipt
  const state = receipt.purgedAt === null ? 'open' : 'purged'
  return `${receipt.id}  ${instant(receipt.erasedAt)}  ${state.padEnd(6)}  deletes ${deletes.confirmed}/${deletes.planned}  ${safe(receipt.actor)}${receipt.reason === null ? '' : `  ${safe(receipt.reason)}`}${show.service ? `  ${receipt.service}` : ''}\n`
}

/** Returns the error for a command line without an action, or with several. */
function selectionError(actionCount: number): UsageError {
  return new UsageError(
    actionCount === 0 ? 'MISSING_OPTION' : 'INVALID_VALUE',
    actionCount === 0
      ? 'forget needs --email, --phone or --key, or else --list, --export or --replay. Nothing was erased.'
      : 'forget takes a person, --list, --export or --replay, one at a time. Nothing was erased.',
    { where: 'forget', hint: 'sluice forget --email jane@example.com' },
  )
}

/** Reads the file of `--replay`. @throws {UsageError} `INVALID_VALUE` */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError('INVALID_VALUE', `${file} cannot be read. Nothing was erased.`, {
      where: '--replay',
      hint: 'sluice forget --export FILE   (writes a file for --replay)',
      cause: error,
    })
  }
}

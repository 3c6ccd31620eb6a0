import { needService, type Config, type KnownService } from '../../config/config.ts'
import { ConfigError, SluiceError } from '../../errors.ts'
import type { Pipeline } from '../../pipeline/definition.ts'
import type { Answer, Exchange, Transport } from '../../service/client/exchange.ts'
import { createTransport } from '../../service/client/index.ts'
import { migrationStatus } from '../../store/migrate.ts'
import { writeJson, type CommandRun, type Context } from '../context.ts'
import { pipelinesNamed } from '../pipelines.ts'
import { presentError } from '../present.ts'
import { targetOf } from '../render/target.ts'
import { withStore } from '../store.ts'
import { waiting } from '../waiting.ts'
import { plural, safe } from '../text.ts'
import { padded } from '../width.ts'

/** One line of the doctor: what was looked at, how it is, and the mend where it is not well. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly message: string
  readonly mend?: string
}

const timeoutMs = 15_000
/** Signatures are refused from five minutes on; half a minute is already a machine that wants looking after. */
const clockWarningS = 30
const clockLimitS = 300

/** Looks at everything a run needs, sends nothing that changes anything, and never stops at the first fault. */
export const run: CommandRun = async (context) => {
  const findings: Finding[] = []
  const say = (finding: Finding) => {
    findings.push(finding)
    if (!context.json) context.stdout.write(findingLines(finding, context))
  }
  const config = await examineEnvironment(context, say)
  if (config) {
    await examineDatabase(context, say)
    const pipelines = await examinePipelines(context, say)
    await examineService(config, context, pipelines, say)
  }
  const failed = findings.filter(({ state }) => state === 'failed').length
  const warned = findings.filter(({ state }) => state === 'warning').length
  if (context.json) writeJson(context, { ok: failed === 0, failed, warnings: warned, checks: findings })
  else {
    const verdict =
      [...(failed > 0 ? [`${failed} failed`] : []), ...(warned > 0 ? [plural(warned, 'warning')] : [])].join(', ') || 'all well'
    context.stdout.write(`${verdict}\n`)
    const next = findings.find(({ state }) => state === 'failed')?.mend
    if (next !== undefined) context.stdout.write(`Next  ${next}\n`)
  }
  return failed > 0 ? 1 : 0
}

type Say = (finding: Finding) => void

async function examineEnvironment(context: Context, say: Say): Promise<Config | undefined> {
  try {
    const config = context.config()
    say({ check: 'environment', state: 'ok', message: `data in ${config.dataDir}, logs at ${config.log.level}` })
    return config
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const problem of error.problems)
      say({
        check: 'environment',
        state: 'failed',
        message: `${problem.path} ${problem.message}`,
        mend: problem.mend ?? 'sluice help environment',
      })
    return undefined
  }
}

async function examineDatabase(context: Context, say: Say): Promise<void> {
  try {
    await withStore(context, async (store) => {
      const [server] = await store.db.query<{ server_version: string; skew: string }>(
        `select current_setting('server_version') as server_version, extract(epoch from clock_timestamp())::text as skew`,
      )
      const { applied, known } = await migrationStatus(store.url)
      say({
        check: 'database',
        state: 'ok',
        message: `Postgres ${server?.server_version.split(' ')[0] ?? ''}${store.embedded ? ', embedded' : ''}, migrations ${applied} of ${known}`,
      })
      const offsetS = Math.abs(context.clock.now() / 1000 - Number(server?.skew))
      // Leases and schedules follow the database's clock, deadlines ours.
      if (offsetS > clockWarningS)
        say({
          check: 'clock',
          state: 'warning',
          message: `${offsetS.toFixed(0)} s from the database`,
          mend: 'set the clock of this machine or of the database server (NTP)',
        })
    })
  } catch (error) {
    fail(error, 'database', say)
  }
}

async function examinePipelines(context: Context, say: Say): Promise<readonly Pipeline[]> {
  try {
    const pipelines = await pipelinesNamed(context, [])
    say({ check: 'pipelines', state: 'ok', message: `${plural(pipelines.length, 'pipeline')} in ${context.pipelines}` })
    return pipelines
  } catch (error) {
    if (error instanceof ConfigError) {
      for (const problem of error.problems)
        say({
          check: 'pipelines',
          state: 'failed',
          message: `${problem.where ?? ''} ${problem.path} ${problem.message}`.trim(),
          mend: 'sluice check',
        })
    } else if (error instanceof SluiceError) say({ check: 'pipelines', state: 'warning', message: error.message, mend: error.mend })
    else throw error
    return []
  }
}

async function examineService(config: Config, context: Context, pipelines: readonly Pipeline[], say: Say): Promise<void> {
  let service: KnownService
  try {
    service = needService(config)
  } catch (error) {
    return fail(error, 'service', say)
  }
  const direct = createTransport(service)
  const transport: Transport = {
    ...direct,
    exchange: (request) => waiting(context, 'waiting for the service', () => direct.exchange(request)),
  }
  try {
    const first = await get(transport, `/${service.adsVersion}/accounts`)
    if (first.kind !== 'answer') {
      return say({
        check: 'service',
        state: 'failed',
        message: `${service.adsBaseUrl} does not answer: ${first.error.message}`,
        mend: 'check SLUICE_ADS_BASE_URL and the network; for the sandbox: sluice sandbox',
      })
    }
    say({ check: 'service', state: 'ok', message: `${service.adsBaseUrl} answers in ${Math.round(first.durationMs)} ms` })
    examineClock(first, context.clock.now(), say)
    const accounts = examineCredentials(first, say)
    if (accounts) await examineTargets(transport, service, pipelines, accounts, say)
  } finally {
    await transport.close()
  }
}

function examineClock(answer: Answer, now: number, say: Say): void {
  const date = Date.parse(answer.headers['date'] ?? '')
  if (Number.isNaN(date)) return say({ check: 'clock', state: 'warning', message: 'the service sent no Date header to compare with' })
  const offsetS = Math.abs(now - date) / 1000
  if (offsetS > clockLimitS)
    say({
      check: 'clock',
      state: 'failed',
      message: `${offsetS.toFixed(0)} s from the service: signatures are refused`,
      mend: 'set the clock of this machine (NTP)',
    })
  else if (offsetS > clockWarningS)
    say({
      check: 'clock',
      state: 'warning',
      message: `${offsetS.toFixed(0)} s from the service`,
      mend: 'set the clock of this machine (NTP)',
    })
  else say({ check: 'clock', state: 'ok', message: `${offsetS.toFixed(1)} s from the service` })
}

/** Ids of the accounts within reach; undefined when the credentials were refused. */
function examineCredentials(answer: Answer, say: Say): readonly string[] | undefined {
  const body = parsed(answer)
  if (answer.status === 200) {
    const accounts = array(property(body, 'data')).flatMap((account) => textOf(property(account, 'id')))
    if (accounts.length > 0)
      say({ check: 'credentials', state: 'ok', message: `${plural(accounts.length, 'advertising account')} within reach` })
    else
      say({
        check: 'credentials',
        state: 'warning',
        message: 'accepted, but no advertising account is within reach',
        mend: "ask the account's owner to add this user",
      })
    return accounts
  }
  const [code = ''] = array(property(body, 'errors')).flatMap((error) => textOf(property(error, 'code')))
  const reason = `${answer.status}${code === '' ? '' : `, code ${code}`}`
  const finding =
    refusals.find((row) => row.status === answer.status && row.codes.includes(code)) ??
    refusals.find((row) => row.status === answer.status && row.codes.length === 0)
  say({
    check: 'credentials',
    state: 'failed',
    message: `${finding?.what ?? 'the service refused'} (${reason})`,
    mend: finding?.mend ?? 'sluice auth status',
  })
  return undefined
}

/** Which variable a refusal speaks of (spec/gaps.md 4). */
const refusals: readonly { readonly status: number; readonly codes: readonly string[]; readonly what: string; readonly mend: string }[] = [
  { status: 401, codes: ['89'], what: 'SLUICE_ACCESS_TOKEN refused', mend: 'sluice auth login' },
  {
    status: 401,
    codes: [],
    what: 'the signature was refused: SLUICE_CONSUMER_KEY, SLUICE_CONSUMER_SECRET, SLUICE_ACCESS_TOKEN or SLUICE_ACCESS_TOKEN_SECRET',
    mend: 'sluice auth login',
  },
  {
    status: 403,
    codes: ['UNAUTHORIZED_CLIENT_APPLICATION'],
    what: 'the application of SLUICE_CONSUMER_KEY is not approved for advertising',
    mend: 'apply for access of the application at the service, then: sluice doctor',
  },
  { status: 403, codes: [], what: 'the user of SLUICE_ACCESS_TOKEN may not do this', mend: 'sluice auth status' },
]

async function examineTargets(
  transport: Transport,
  service: KnownService,
  pipelines: readonly Pipeline[],
  accounts: readonly string[],
  say: Say,
): Promise<void> {
  for (const { name, destination } of pipelines) {
    const check = `pipeline ${name}`
    const version = `/${service.adsVersion}`
    if (destination.kind !== 'catalog' && !accounts.includes(destination.accountId)) {
      say({
        check,
        state: 'failed',
        message: `account ${destination.accountId} is out of reach of SLUICE_ACCESS_TOKEN`,
        mend: "correct destination.account_id, or ask the account's owner to add this user",
      })
      continue
    }
    const path =
      destination.kind === 'catalog'
        ? `${version}/product_catalogs/${destination.catalogId}/products`
        : destination.kind === 'audience'
          ? `${version}/accounts/${destination.accountId}/custom_audiences/${destination.audienceId}`
          : `${version}/accounts/${destination.accountId}/do_not_reach_lists`
    const exchange = await get(transport, path)
    const target = targetOf(destination)
    if (exchange.kind !== 'answer') say({ check, state: 'failed', message: `${target}: ${exchange.error.message}`, mend: 'sluice doctor' })
    else if (exchange.status !== 200)
      say({
        check,
        state: 'failed',
        message: `${target} is not found or out of reach (${exchange.status})`,
        mend: `correct destination in the file of ${name}, then: sluice doctor`,
      })
    else if (
      destination.kind === 'do-not-reach' &&
      !array(property(parsed(exchange), 'data')).some((list) => textOf(property(list, 'id'))[0] === destination.listId)
    ) {
      say({ check, state: 'failed', message: `${target} is not among the account's lists`, mend: `correct destination.list_id of ${name}` })
    } else say({ check, state: 'ok', message: `${target} is within reach` })
  }
}

function get(transport: Transport, path: string): Promise<Exchange> {
  return transport.exchange({ method: 'GET', host: 'ads', path, timeoutMs })
}

function fail(error: unknown, check: string, say: Say): void {
  const { message, mend } = presentError(error)
  say({ check, state: 'failed', message, mend })
}

function findingLines({ check, state, message, mend }: Finding, context: Context): string {
  const { style } = context.stdout
  const paint = { ok: style.green, warning: style.yellow, failed: style.red }[state]
  return `${paint(state.padEnd(7))}  ${padded(check, 11)}  ${safe(message)}\n${mend === undefined ? '' : `         mend: ${safe(mend)}\n`}`
}

function parsed(answer: Answer): unknown {
  try {
    return JSON.parse(answer.body.toString('utf8'))
  } catch {
    return undefined
  }
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}

function array(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textOf(value: unknown): readonly string[] {
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : []
}

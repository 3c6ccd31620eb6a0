import type { CompleteServiceSettings } from '../../../config/config.ts'
import type { Pipeline } from '../../../model/pipeline.ts'
import type { Answer, Transport, Exchange } from '../../../service/client/exchange.ts'
import { createTransport } from '../../../service/client/index.ts'
import type { Context } from '../../context.ts'
import { namesOfSettings, serviceOf } from '../../services.ts'
import { waiting } from '../../terminal/waiting.ts'
import { jsonOf, recordOf, listOf } from '../../../unknownValue.ts'
import { examineClock } from './clock.ts'
import { reportFailure, type ReportFinding } from './finding.ts'
import { destinationOf } from '../../../destinations/index.ts'
import { plural } from '../../terminal/text.ts'

/**
 * Checks the service of each set of credentials that a pipeline uses. If the service answers, also checks the clock, the credentials and
 * the destinations of these pipelines. Without pipelines, checks the service of the environment.
 */
export async function examineServices(context: Context, pipelines: readonly Pipeline[], report: ReportFinding): Promise<void> {
  const sets = new Set(pipelines.map(({ credentials }) => credentials))
  if (sets.size === 0) sets.add(undefined)
  for (const set of sets) {
    const ownPipelines = pipelines.filter(({ credentials }) => credentials === set)
    await examineService(context, set, ownPipelines, set === undefined ? report : reportForSet(set, report))
  }
}

/** Checks one service. `set`: name of its credentials in sluice.yaml; undefined for the credentials of the environment. */
async function examineService(
  context: Context,
  set: string | undefined,
  pipelines: readonly Pipeline[],
  report: ReportFinding,
): Promise<void> {
  let service: CompleteServiceSettings
  try {
    service = await serviceOf(context, set)
  } catch (error) {
    return reportFailure(error, 'service', report)
  }
  const plainTransport = createTransport(service)
  const transport: Transport = {
    ...plainTransport,
    async exchange(request) {
      const exchange = await waiting(context, 'waiting for the service', () =>
        plainTransport.exchange({ ...request, signal: context.signal }),
      )
      context.signal.throwIfAborted()
      return exchange
    },
  }
  try {
    const path = `/${service.adsVersion}/accounts`
    const first = await getFromAds(transport, path)
    const answeredMs = context.clock.now()
    if (first.kind !== 'answer') {
      return report({
        check: 'service',
        state: 'failed',
        message: `${service.adsBaseUrl} does not answer: ${first.error.message}`,
        hint: 'check SLUICE_ADS_BASE_URL and the network; to start the sandbox: sluice sandbox',
      })
    }
    // The transport signs a second request with the service's time. So a wrong clock is not also reported as refused credentials.
    const second = first.status === 401 ? await getFromAds(transport, path) : first
    const answer = second.kind === 'answer' ? second : first
    const isUsable = isAboutCredentials(answer)
    if (isUsable) report({ check: 'service', state: 'ok', message: `${service.adsBaseUrl} answers in ${Math.round(first.durationMs)} ms` })
    else
      report({
        check: 'service',
        state: 'failed',
        message: `${service.adsBaseUrl} answers ${path} with ${answer.status}`,
        hint: hintOf(answer),
      })
    examineClock(first, answeredMs, report)
    if (!isUsable) return
    const refusedVariables = answer.status === 401 ? await transport.refusedCredentials?.() : undefined
    const accounts = examineCredentials(answer, refusedVariables, report)
    if (accounts) await examineTargets(transport, service, pipelines, accounts, report)
  } finally {
    await transport.close()
  }
}

/** Returns true for a list of accounts, a 401 or a 403. Any other answer is not about the credentials. */
function isAboutCredentials(answer: Answer): boolean {
  return answer.status === 200 ? Array.isArray(recordOf(parsedBody(answer))['data']) : answer.status === 401 || answer.status === 403
}

/** Returns the hint for an answer that is not about the credentials. */
function hintOf({ status }: Answer): string {
  if (status === 429) return 'too many requests: wait some minutes, then: sluice doctor'
  if (status >= 500) return 'the service fails at the moment: wait, then: sluice doctor'
  return 'check SLUICE_ADS_BASE_URL and SLUICE_ADS_VERSION: another server may answer there'
}

/** Returns a function that reports findings with the names of settings in `sluice.yaml` instead of environment variables. */
function reportForSet(set: string, report: ReportFinding): ReportFinding {
  const settings = (text: string) => namesOfSettings(text, set)
  return ({ check, state, message, hint }) =>
    report({
      check: check.startsWith('pipeline ') ? check : `${check} ${set}`,
      state,
      message: settings(message),
      ...(hint === undefined
        ? {}
        : { hint: hint.startsWith('sluice auth') ? `correct credentials.${set} in sluice.yaml, then: sluice doctor` : settings(hint) }),
    })
}

/**
 * Reports for each pipeline whether its destination exists and is accessible. `accounts`: accessible accounts of the first page. Any other
 * account is requested alone, because it may be on a later page.
 */
async function examineTargets(
  transport: Transport,
  service: CompleteServiceSettings,
  pipelines: readonly Pipeline[],
  accounts: readonly string[],
  report: ReportFinding,
): Promise<void> {
  const isAccessible = async (accountId: string) => {
    const exchange = await getFromAds(transport, `/${service.adsVersion}/accounts/${accountId}`)
    return exchange.kind === 'answer' && exchange.status === 200
  }
  for (const { name, destination } of pipelines) {
    const check = `pipeline ${name}`
    const type = destinationOf(destination.kind)
    const { path, accountId, listed } = type.probe(destination, service.adsVersion)
    if (accountId !== undefined && !accounts.includes(accountId) && !(await isAccessible(accountId))) {
      report({
        check,
        state: 'failed',
        message: `account ${accountId} is not accessible to SLUICE_ACCESS_TOKEN`,
        hint: "correct destination.account_id, or ask the account's owner to add this user",
      })
      continue
    }
    const exchange = await getFromAds(transport, path)
    const target = type.name(destination)
    if (exchange.kind !== 'answer')
      report({ check, state: 'failed', message: `${target}: ${exchange.error.message}`, hint: 'check the network, then: sluice doctor' })
    else if (exchange.status !== 200)
      report({
        check,
        state: 'failed',
        message: `${target} does not exist or is not accessible (${exchange.status})`,
        hint: `correct destination in the file of ${name}, then: sluice doctor`,
      })
    else if (
      listed !== undefined &&
      !listOf(recordOf(parsedBody(exchange))['data']).some((list) => textOf(recordOf(list)['id'])[0] === listed.id)
    ) {
      report({
        check,
        state: 'failed',
        message: `${target} is not among the lists of its account`,
        hint: `correct destination.${listed.setting} in the file of ${name}, then: sluice doctor`,
      })
    } else report({ check, state: 'ok', message: `${target} is accessible` })
  }
}

/**
 * Reports whether the service accepted the credentials. `answer`: the list of accounts, or a 401 or 403. Returns the ids of the accessible
 * accounts on the first page; undefined for a 401 or 403. `refusedVariables`: result of `Transport.refusedCredentials`, which sends test requests and
 * returns the names of the variables that may be wrong.
 */
function examineCredentials(answer: Answer, refusedVariables: string | undefined, report: ReportFinding): readonly string[] | undefined {
  const body = parsedBody(answer)
  if (answer.status === 200) {
    const { data, next_cursor: next } = recordOf(body)
    const accounts = listOf(data).flatMap((account) => textOf(recordOf(account)['id']))
    const more = typeof next === 'string' ? 'more than ' : ''
    if (accounts.length > 0)
      report({ check: 'credentials', state: 'ok', message: `${more}${plural(accounts.length, 'accessible advertising account')}` })
    else
      report({
        check: 'credentials',
        state: 'warning',
        message: 'accepted, but no advertising account is accessible',
        hint: "ask the account's owner to add this user",
      })
    return accounts
  }
  const [code = ''] = listOf(recordOf(body)['errors']).flatMap((error) => textOf(recordOf(error)['code']))
  const reason = `${answer.status}${code === '' ? '' : `, code ${code}`}`
  const refusal = refusalOf(answer.status, code)
  // If the test requests do not show which variable is wrong, `refusedVariables` has all four.
  const isConsumer = refusedVariables?.includes('CONSUMER') === true && !refusedVariables.includes('ACCESS')
  report({
    check: 'credentials',
    state: 'failed',
    message: `${refusedVariables === undefined ? refusal.message : `${refusedVariables} refused`} (${reason})`,
    hint: isConsumer ? 'correct it, then sluice doctor' : refusal.hint,
  })
  return undefined
}

/** Message and hint about a refusal by the service. */
interface Refusal {
  readonly message: string
  readonly hint: string
}

/** Returns the text about a 401 or 403 by its error code (docs/spec-notes.md#errors). */
function refusalOf(status: number, code: string): Refusal {
  if (status === 401)
    return code === '89'
      ? { message: 'SLUICE_ACCESS_TOKEN was refused', hint: 'sluice auth login' }
      : {
          message:
            'the signature was refused: SLUICE_CONSUMER_KEY, SLUICE_CONSUMER_SECRET, SLUICE_ACCESS_TOKEN or SLUICE_ACCESS_TOKEN_SECRET',
          hint: 'sluice auth login',
        }
  return code === 'UNAUTHORIZED_CLIENT_APPLICATION'
    ? {
        message: 'the application of SLUICE_CONSUMER_KEY is not approved for advertising',
        hint: 'apply for access of the application at the service, then: sluice doctor',
      }
    : { message: 'the user of SLUICE_ACCESS_TOKEN may not list advertising accounts', hint: 'sluice auth status' }
}

const timeoutMs = 15_000

/** Sends a GET to the advertising host, once, with a timeout of 15 s. */
function getFromAds(transport: Transport, path: string): Promise<Exchange> {
  return transport.exchange({ method: 'GET', host: 'ads', path, timeoutMs })
}

/** Returns the parsed body; undefined if it is not JSON. */
function parsedBody(answer: Answer): unknown {
  return jsonOf(answer.body.toString('utf8'))
}

/** Returns the value as a list with one text, for `flatMap`. Returns an empty list for anything but a text or number. */
function textOf(value: unknown): readonly string[] {
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : []
}

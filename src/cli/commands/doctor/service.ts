import type { CompleteServiceSettings } from '../../../config/config.ts'
import type { Pipeline } from '../../../model/pipeline.ts'
import type { Answer, Transport } from '../../../service/client/exchange.ts'
import { createTransport } from '../../../service/client/index.ts'
import type { Context } from '../../context.ts'
import { namesOfSettings, serviceOf } from '../../services.ts'
import { waiting } from '../../terminal/waiting.ts'
import { recordOf } from '../../../unknownValue.ts'
import { getFromAds, parsedBody } from './serviceReads.ts'
import { examineClock } from './clock.ts'
import { examineCredentials } from './credentials.ts'
import { reportFailure, type ReportFinding } from './finding.ts'
import { examineTargets } from './targets.ts'

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

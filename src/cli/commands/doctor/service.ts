import { needService, type Config, type KnownService } from '../../../config/config.ts'
import type { Pipeline } from '../../../model/pipeline.ts'
import type { Transport } from '../../../service/client/exchange.ts'
import { createTransport } from '../../../service/client/index.ts'
import type { Context } from '../../context.ts'
import { waiting } from '../../terminal/waiting.ts'
import { get } from './answers.ts'
import { examineClock } from './clock.ts'
import { examineCredentials } from './credentials.ts'
import { reportFailure, type ReportFinding } from './finding.ts'
import { examineTargets } from './targets.ts'

/** Checks the service; if it answers, also the clock, the credentials and the destinations. */
export async function examineService(
  config: Config,
  context: Context,
  pipelines: readonly Pipeline[],
  report: ReportFinding,
): Promise<void> {
  let service: KnownService
  try {
    service = needService(config)
  } catch (error) {
    return reportFailure(error, 'service', report)
  }
  const direct = createTransport(service)
  const transport: Transport = {
    ...direct,
    exchange: (request) => waiting(context, 'waiting for the service', () => direct.exchange(request)),
  }
  try {
    const first = await get(transport, `/${service.adsVersion}/accounts`)
    if (first.kind !== 'answer') {
      return report({
        check: 'service',
        state: 'failed',
        message: `${service.adsBaseUrl} does not answer: ${first.error.message}`,
        hint: 'check SLUICE_ADS_BASE_URL and the network; for the sandbox: sluice sandbox',
      })
    }
    report({ check: 'service', state: 'ok', message: `${service.adsBaseUrl} answers in ${Math.round(first.durationMs)} ms` })
    examineClock(first, context.clock.now(), report)
    // The transport signs the second request with the service's time. So a wrong clock is not reported as refused credentials too.
    const again = first.status === 401 ? await get(transport, `/${service.adsVersion}/accounts`) : first
    const answer = again.kind === 'answer' ? again : first
    const refused = answer.status === 401 ? await transport.refusedCredentials?.() : undefined
    const accounts = examineCredentials(answer, refused, report)
    if (accounts) await examineTargets(transport, service, pipelines, accounts, report)
  } finally {
    await transport.close()
  }
}

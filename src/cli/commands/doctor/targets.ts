import type { CompleteServiceSettings } from '../../../config/config.ts'
import type { Pipeline } from '../../../model/pipeline.ts'
import type { Transport } from '../../../service/client/exchange.ts'
import { listOf, recordOf } from '../../../unknownValue.ts'
import { getFromAds, parsedBody, textOf } from './serviceReads.ts'
import type { ReportFinding } from './finding.ts'
import { destinationOf } from '../../../destinations/index.ts'

/**
 * Reports for each pipeline whether its destination exists and is accessible. `accounts`: accessible accounts of the first page. Any other
 * account is requested alone, because it may be on a later page.
 */
export async function examineTargets(
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

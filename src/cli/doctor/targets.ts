import type { KnownService } from '../../config/config.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import type { Transport } from '../../service/client/exchange.ts'
import { targetOf } from '../render/target.ts'
import { array, get, parsed, property, textOf } from './answers.ts'
import type { Say } from './finding.ts'

/** Checks that each pipeline's destination exists and is accessible to these accounts. */
export async function examineTargets(
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
        message: `account ${destination.accountId} is not accessible to SLUICE_ACCESS_TOKEN`,
        hint: "correct destination.account_id, or ask the account's owner to add this user",
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
    if (exchange.kind !== 'answer') say({ check, state: 'failed', message: `${target}: ${exchange.error.message}`, hint: 'sluice doctor' })
    else if (exchange.status !== 200)
      say({
        check,
        state: 'failed',
        message: `${target} does not exist or is not accessible (${exchange.status})`,
        hint: `correct destination in the file of ${name}, then: sluice doctor`,
      })
    else if (
      destination.kind === 'do-not-reach' &&
      !array(property(parsed(exchange), 'data')).some((list) => textOf(property(list, 'id'))[0] === destination.listId)
    ) {
      say({ check, state: 'failed', message: `${target} is not among the account's lists`, hint: `correct destination.list_id of ${name}` })
    } else say({ check, state: 'ok', message: `${target} is accessible` })
  }
}

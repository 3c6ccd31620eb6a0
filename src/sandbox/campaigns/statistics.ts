/**
 * Handles statistics, statistics jobs and lists of active entities. The specification has none of these endpoints.
 *
 * Values are invented for each line item and hour, so the sum over a period is the same for every granularity. Only line items that serve
 * now have values: after a pause, values of earlier hours are zero too. `country`, `platform` and `segmentation_type` have no effect.
 */
import { hash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { recordsOfAccount } from '../accountRecords.ts'
import { accountOf, type Call, type Handler } from '../area.ts'
import { listReply } from '../lists.ts'
import { listParam, passesFilter, recordOfParam, textParam } from '../params.ts'
import { isProcessed } from '../processing.ts'
import { adsRefusal, adsRefusals, invalidParameter, ok } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { METRICS, type Metric } from './metrics.ts'
import { isServing, type CampaignsState, type LineItem, type StatisticsJob, type StatisticsQuery } from './state.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Time from the creation of a job until its file expires. */
const FILE_LIFE_MS = 2 * DAY

export const statisticsHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  'statistics.get': (call) => {
    const query = queryOf(call, { maxDays: 7 })
    const { length, data } = metricsOf(call.state, accountOf(call).id, query, call.now)
    return { kind: 'ads', data, extraKeys: { data_type: 'stats', time_series_length: length } }
  },
  'activeEntities.list': (call) => {
    const { start, end } = periodOf(call, { maxDays: 90 })
    const entityType = String(call.params['entity'])
    const campaignIds = listParam(call, 'campaign_ids')
    const fundingIds = listParam(call, 'funding_instrument_ids')
    const itemIds = listParam(call, 'line_item_ids')
    const campaigns = recordsOfAccount(call.state.campaigns, accountOf(call).id)
    const serving = servingItems(call.state, accountOf(call).id)
      .filter(
        (item) =>
          passesFilter(campaignIds, item.campaign_id) &&
          passesFilter(itemIds, item.id) &&
          passesFilter(fundingIds, campaigns.get(item.campaign_id)?.funding_instrument_id ?? ''),
      )
      .map((item) => ({ item, served: servedPeriod(item, { start, end: Math.min(end, call.now) }) }))
      .filter(({ served }) => served.start < served.end)
    const servingByEntity = Map.groupBy(
      serving.flatMap((one) => entitiesOf(call.state, accountOf(call).id, one.item, entityType).map((id) => ({ id, ...one }))),
      ({ id }) => id,
    )
    return ok(
      [...servingByEntity].map(([id, items]) => ({
        entity_id: id,
        activity_start_time: isoSeconds(Math.min(...items.map(({ served }) => served.start))),
        activity_end_time: isoSeconds(Math.max(...items.map(({ served }) => served.end))),
        placements: [...new Set(items.flatMap(({ item }) => item.placements))],
      })),
    )
  },
  'statisticsJobs.create': (call) => {
    const query = queryOf(call, { maxDays: 90 })
    const id = call.world.newId()
    const job: StatisticsJob = {
      id,
      account_id: accountOf(call).id,
      ...query,
      country: textParam(call, 'country'),
      platform: textParam(call, 'platform'),
      segmentation_type: textParam(call, 'segmentation_type'),
      file: hash('sha256', `${id} ${call.world.random()}`).slice(0, 32),
      createdAt: call.now,
      content: fileContent(call.state, accountOf(call).id, query, call.now),
      cancelled: false,
    }
    call.state.jobs.set(id, job)
    return ok(jobWire(call, job, 'PROCESSING'))
  },
  'statisticsJobs.list': (call) => {
    const ids = listParam(call, 'job_ids')
    const jobs = [...call.state.jobs.values()].filter((job) => job.account_id === accountOf(call).id && passesFilter(ids, job.id))
    return listReply(call, jobs, { render: (job) => jobWire(call, job, statusOf(call, job)) })
  },
  'statisticsJobs.delete': (call) => {
    const job = recordOfParam(call, 'job_id', call.state.jobs, 'NOT_FOUND', (one) => one.account_id === accountOf(call).id)
    if (!job.cancelled) job.cancelledAt = call.now
    job.cancelled = true
    return ok(jobWire(call, job, statusOf(call, job)))
  },
  'statisticsJobs.file': (call) => {
    const name = String(call.params['file']).replace(/\.json\.gz$/, '')
    const job = [...call.state.jobs.values()].find((one) => one.file === name)
    if (job === undefined || statusOf(call, job) !== 'SUCCESS' || call.now > job.createdAt + FILE_LIFE_MS)
      throw adsRefusal('NOT_FOUND', 'No finished job has this file, or the file has expired')
    return {
      kind: 'text',
      type: 'application/gzip',
      body: Buffer.from(job.content, 'base64'),
    }
  },
}

/** Reads the parameters that select statistics. @throws {Refusal} as `periodOf`, and for an unknown entity */
function queryOf(call: Call<CampaignsState>, limits: { readonly maxDays: number }): StatisticsQuery {
  const period = periodOf(call, limits)
  const entityType = String(call.params['entity'])
  const ids = listParam(call, 'entity_ids') ?? []
  const unknown = ids.find((id) => !isKnown(call.state, accountOf(call).id, entityType, id))
  if (unknown !== undefined)
    throw adsRefusal(`${entityType}_NOT_FOUND`, `${entityType.toLowerCase().replaceAll('_', ' ')} ${unknown} was not found`, {
      parameter: 'entity_ids',
    })
  return {
    entity: entityType,
    entity_ids: ids,
    ...period,
    granularity: String(call.params['granularity']),
    metric_groups: listParam(call, 'metric_groups') ?? [],
    placement: String(call.params['placement']),
  }
}

/**
 * Returns the period from `start_time` to `end_time`.
 *
 * @throws {Refusal} if `end_time` is not later, or is more than `maxDays` days later
 */
function periodOf(call: Call<unknown>, { maxDays }: { readonly maxDays: number }): Period {
  const [from, to] = [String(call.params['start_time']), String(call.params['end_time'])]
  const [start, end] = [Date.parse(from), Date.parse(to)]
  if (end <= start)
    throw adsRefusals([{ ...invalidParameter('end_time', 'a time later than start_time', to), code: 'INVALID_TIME_WINDOW' }])
  if (end - start > maxDays * DAY)
    throw adsRefusals([{ ...invalidParameter('start_time', `at most ${maxDays} days before end_time`, from), code: 'INVALID_TIME_WINDOW' }])
  return { start, end }
}

/** Returns the metrics of each entity. A metric is a list of `length` values, or null. Values after `now` are zero. */
function metricsOf(
  state: CampaignsState,
  accountId: string,
  query: StatisticsQuery,
  now: number,
): { readonly length: number; readonly data: readonly object[] } {
  const step = query.granularity === 'HOUR' ? HOUR : query.granularity === 'DAY' ? DAY : query.end - query.start
  const length = Math.ceil((query.end - query.start) / step)
  const period = { start: query.start, end: Math.min(query.end, now) }
  const selected = query.metric_groups.flatMap((group) => METRICS[group] ?? [])
  const serving = servingItems(state, accountId).filter(({ placements }) => hasPlacement(placements, query.placement))
  const data = query.entity_ids.map((id) => {
    const items = serving.filter((item) => entitiesOf(state, accountId, item, query.entity).includes(id))
    const metrics = Object.fromEntries(selected.map((metric) => [metric.name, metricValues(items, metric, period, step, length)]))
    return { id, id_data: [{ segment: null, metrics }] }
  })
  return { length, data }
}

/**
 * Returns true if statistics of `placement` include a line item with `placements`. It is assumed that `ALL_ON_SERVICE` includes every
 * placement except `PUBLISHER_NETWORK`.
 */
function hasPlacement(placements: readonly string[], placement: string): boolean {
  return placement === 'ALL_ON_SERVICE' ? placements.some((one) => one !== 'PUBLISHER_NETWORK') : placements.includes(placement)
}

/** Period in milliseconds since 1970. `end` is exclusive. */
interface Period {
  readonly start: number
  readonly end: number
}

/** Returns the part of the period in which the line item exists and runs (spec 4.6). If there is none, `end` is not after `start`. */
function servedPeriod({ created_at, start_time, end_time }: LineItem, { start, end }: Period): Period {
  return {
    start: Math.max(start, Date.parse(created_at), Date.parse(start_time ?? created_at)),
    end: end_time === null ? end : Math.min(end, Date.parse(end_time)),
  }
}

/**
 * Returns `length` values of a metric, summed over the line items. Null for a metric of objects (`factor` is null). `step`: milliseconds per
 * value.
 */
function metricValues(items: readonly LineItem[], metric: Metric, period: Period, step: number, length: number): number[] | null {
  if (metric.factor === null) return null
  const values = Array.from({ length }, () => 0)
  for (const item of items) {
    const served = servedPeriod(item, period)
    for (let at = Math.floor(served.start / HOUR) * HOUR; at < served.end; at += HOUR) {
      const index = Math.floor((at - period.start) / step)
      values[index] = (values[index] ?? 0) + Math.floor(inventedImpressions(item.id, at) * metric.factor)
    }
  }
  return values
}

/** Returns the invented impressions of a line item in an hour: 20 to 119. */
function inventedImpressions(id: string, at: number): number {
  return 20 + (Number.parseInt(hash('sha256', `${id} ${Math.floor(at / HOUR)}`).slice(0, 6), 16) % 100)
}

function servingItems(state: CampaignsState, accountId: string): LineItem[] {
  return [...recordsOfAccount(state.lineItems, accountId).values()].filter((item) => isServing(state, accountId, item))
}

/** Returns the ids of the entities of a type whose metrics include the values of the line item. */
function entitiesOf(state: CampaignsState, accountId: string, item: LineItem, entityType: string): string[] {
  const campaign = recordsOfAccount(state.campaigns, accountId).get(item.campaign_id)
  switch (entityType) {
    case 'ACCOUNT':
      return [accountId]
    case 'CAMPAIGN':
      return [item.campaign_id]
    case 'FUNDING_INSTRUMENT':
      return campaign === undefined ? [] : [campaign.funding_instrument_id]
    case 'LINE_ITEM':
      return [item.id]
    case 'PROMOTED_TWEET':
      return [...recordsOfAccount(state.promotedTweets, accountId).values()]
        .filter((one) => one.line_item_id === item.id)
        .map(({ id }) => id)
    default:
      return []
  }
}

/** Returns true if the account has the entity, deleted or not. Always true for the types that the sandbox does not check. */
function isKnown(state: CampaignsState, accountId: string, entityType: string, id: string): boolean {
  switch (entityType) {
    case 'ACCOUNT':
      return id === accountId
    case 'CAMPAIGN':
      return recordsOfAccount(state.campaigns, accountId).has(id)
    case 'FUNDING_INSTRUMENT':
      return recordsOfAccount(state.funding, accountId).has(id)
    case 'LINE_ITEM':
      return recordsOfAccount(state.lineItems, accountId).has(id)
    case 'PROMOTED_TWEET':
      return recordsOfAccount(state.promotedTweets, accountId).has(id)
    // The values of such an entity are zero, because `entitiesOf` returns none.
    default:
      return true
  }
}

function statusOf(call: Call<CampaignsState>, job: StatisticsJob): string {
  if (job.cancelled) return 'CANCELLED'
  return isProcessed(call.world, 'statisticsJob', job.createdAt) ? 'SUCCESS' : 'PROCESSING'
}

function jobWire(call: Call<CampaignsState>, job: StatisticsJob, status: string): Record<string, unknown> {
  const { file, createdAt, start, end, content: _content, cancelled: _, cancelledAt: updatedAt = createdAt, ...shared } = job
  const isReady = status === 'SUCCESS'
  return {
    ...shared,
    id: BigInt(job.id),
    id_str: job.id,
    status,
    start_time: isoSeconds(start),
    end_time: isoSeconds(end),
    url: isReady ? `${call.world.url}/12/stats/files/${file}.json.gz` : null,
    created_at: isoSeconds(createdAt),
    updated_at: isoSeconds(updatedAt),
    expires_at: isReady ? isoSeconds(createdAt + FILE_LIFE_MS) : null,
  }
}

/** Returns the content of a job's file: JSON, compressed by gzip, as base64. */
export function fileContent(state: CampaignsState, accountId: string, query: StatisticsQuery, now: number): string {
  const { length, data } = metricsOf(state, accountId, query, now)
  return gzipSync(JSON.stringify({ data_type: 'stats', time_series_length: length, data })).toString('base64')
}

/**
 * Handles the endpoints of business and curated categories, of the categories of line items, and of placements (spec 4.5;
 * docs/spec-notes.md#categories-and-placements).
 */
import { creationFields, recordHandlers, recordsOf } from '../accountRecords.ts'
import type { Call, Handler } from '../area.ts'
import { isCountryCode } from '../countries.ts'
import { listReply } from '../lists.ts'
import { listParam, textParam } from '../params.ts'
import { adsRefusals, invalidParameter, notFound, ok, okWholeList } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { businessCategories, curatedCategories, placements } from './categoryLists.ts'
import { findChild, isVisible, findLiveLineItem } from './parents.ts'
import type { CampaignsState, LineItemCategory } from './state.ts'

export const categoryHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  'businessCategories.list': () => okWholeList(businessCategories),
  'curatedCategories.list': (call) => {
    const given = listParam(call, 'country_codes') ?? []
    const countries = given.map((code) => code.toUpperCase())
    const unknownCode = given.find((code) => !isCountryCode(code.toUpperCase()))
    if (unknownCode !== undefined) throw adsRefusals([invalidParameter('country_codes', 'ISO 3166-1 alpha-2 codes', unknownCode)])
    return listReply(
      call,
      curatedCategories.filter((category) => category.country_codes.some((code) => countries.includes(code))),
    )
  },
  'curatedCategories.get': (call) => {
    const id = String(call.params['curated_category_id'])
    const category = curatedCategories.find((one) => one.id === id)
    if (category === undefined) throw notFound('NOT_FOUND', 'curated_category_id', id)
    return ok(category)
  },
  'lineItemPlacements.list': (call) =>
    okWholeList(placements.filter((one) => call.params['product_type'] === undefined || one.product_type === call.params['product_type'])),

  ...recordHandlers<CampaignsState, LineItemCategory>('lineItemCuratedCategories', {
    table: (state) => state.lineItemCategories,
    idParameter: 'line_item_curated_category_id',
    notFoundCode: 'NOT_FOUND',
    filters: {},
    isVisible,
  }),
  'lineItemCuratedCategories.create': (call) => {
    const links = linkedIds(call)
    const link: LineItemCategory = { id: call.world.newShortId(), ...links, ...creationFields(call) }
    recordsOf(call, call.state.lineItemCategories).set(link.id, link)
    return ok(link)
  },
  'lineItemCuratedCategories.update': (call) => {
    const record = findChild(call, call.state.lineItemCategories, 'line_item_curated_category_id', 'NOT_FOUND')
    Object.assign(record, linkedIds(call, record), { updated_at: isoSeconds(call.now) })
    return ok(record)
  },
}

type Links = Pick<LineItemCategory, 'line_item_id' | 'curated_category_id'>

/**
 * Returns the ids of line item and category. If the call lacks an id, returns that of `stored`.
 *
 * @throws {Refusal} 404 as `findLiveLineItem`, or if the category is unknown
 */
function linkedIds(call: Call<CampaignsState>, stored?: Links): Links {
  const itemId = textParam(call, 'line_item_id') ?? stored?.line_item_id ?? ''
  const categoryId = textParam(call, 'curated_category_id') ?? stored?.curated_category_id ?? ''
  findLiveLineItem(call, itemId)
  if (!curatedCategories.some(({ id }) => id === categoryId)) throw notFound('NOT_FOUND', 'curated_category_id', categoryId)
  return { line_item_id: itemId, curated_category_id: categoryId }
}

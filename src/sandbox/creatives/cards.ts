/**
 * Handles the endpoints of component cards and legacy cards (spec 4.4). `cards.all` and `cards.allById` find cards of all types. Legacy
 * cards can only be read and deleted.
 */
import { legacyCardTypes } from '../../service/contract/creativeResources.ts'
import { creationFields, findRecord, markDeleted, recordsOf } from '../accountRecords.ts'
import type { Call, Handler } from '../area.ts'
import { listReply, matchesPrefix } from '../lists.ts'
import { isStrict, listParam, passesFilter } from '../params.ts'
import { adsRefusal, ok, okWholeList } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { mediaKeyPlaces, readCardContent, type CardContent } from './components.ts'
import { existingMedia } from './media.ts'
import { cardTables, type Card, type CreativesState } from './state.ts'

export const cardHandlers: Readonly<Record<string, Handler<CreativesState>>> = {
  'cards.list': (call) => {
    const types = listParam(call, 'card_types')
    const ids = listParam(call, 'card_ids') ?? listParam(call, 'card_id')
    const uris = listParam(call, 'card_uris')
    const legacy = call.params['include_legacy_cards'] === true ? recordsOf(call, call.state.legacyCards).values() : []
    const cards = [...recordsOf(call, call.state.cards).values(), ...legacy].filter(
      (card) =>
        passesFilter(types, card.card_type) &&
        passesFilter(ids, card.id) &&
        passesFilter(uris, card.card_uri) &&
        matchesPrefix(card.name, call.params['q']),
    )
    return listReply(call, cards)
  },
  'cards.all': (call) => {
    const cardsByUri = new Map(
      cardTables(call.state).flatMap((table) => [...recordsOf(call, table).values()].map((card) => [card.card_uri, card] as const)),
    )
    const cards = (listParam(call, 'card_uris') ?? []).flatMap((uri) => cardsByUri.get(uri) ?? [])
    return okWholeList(cards.filter((card) => !card.deleted || call.params['with_deleted'] === true))
  },
  'cards.allById': (call) => {
    const id = String(call.params['card_id'])
    const table = cardTables(call.state).find((one) => recordsOf(call, one).has(id)) ?? call.state.cards
    return ok(findRecord(call, table, 'card_id', 'CARD_NOT_FOUND'))
  },
  'cards.get': (call) => ok(call.world.switchValue('card_response') === 'array' ? [findCard(call)] : findCard(call)),
  'cards.create': (call) => {
    const content = readContent(call, [])
    const id = call.world.newId()
    const card: Card = {
      id,
      name: String(call.params['name']),
      card_uri: `card://${id}`,
      card_type: content.card_type,
      components: content.components,
      ...creationFields(call),
    }
    if (content.slides !== undefined) card.slides = content.slides
    recordsOf(call, call.state.cards).set(id, card)
    return ok(card)
  },
  'cards.update': (call) => {
    const card = findRecord(call, call.state.cards, 'card_id', 'CARD_NOT_FOUND')
    const { name, components, slides } = call.params
    if (components !== undefined || slides !== undefined) {
      const keys = mediaKeyPlaces(card).map(({ key }) => key)
      const content = readContent(call, keys)
      card.components = content.components
      card.card_type = content.card_type
      if (content.slides === undefined) delete card.slides
      else card.slides = content.slides
    }
    if (typeof name === 'string') card.name = name
    card.updated_at = isoSeconds(call.now)
    return ok(card)
  },
  'cards.delete': (call) => ok(markDeleted(call, findRecord(call, call.state.cards, 'card_id', 'CARD_NOT_FOUND'))),
  'legacyCards.delete': (call) => {
    const type = String(call.params['card_type'])
    if (!legacyCardTypes.some((legacy) => legacy.toLowerCase() === type))
      throw adsRefusal('UNKNOWN_CARD_TYPE', `"${type}" is not a legacy card type; there is: ${legacyCardTypes.join(', ').toLowerCase()}`, {
        parameter: 'card_type',
      })
    return ok(markDeleted(call, findRecord(call, call.state.legacyCards, 'card_id', 'CARD_NOT_FOUND')))
  },
}

/**
 * Reads the components or slides in the parameters of the call. `earlierKeys`: media keys of the card before the call. The library need not
 * contain them.
 *
 * @throws {Refusal} if the content is wrong, or the library does not contain a new media key
 */
function readContent(call: Call<CreativesState>, earlierKeys: readonly string[]): CardContent {
  const content = readCardContent(call.params, isStrict(call))
  for (const { key, place } of mediaKeyPlaces(content)) if (!earlierKeys.includes(key)) existingMedia(call, key, place)
  return content
}

/** Returns the component card or legacy card that the path names. @throws {Refusal} 404 */
function findCard(call: Call<CreativesState>): Card {
  const legacy = recordsOf(call, call.state.legacyCards)
  return findRecord(
    call,
    legacy.has(String(call.params['card_id'])) ? call.state.legacyCards : call.state.cards,
    'card_id',
    'CARD_NOT_FOUND',
  )
}

/** Endpoints of cards made of components, and of legacy cards (spec 2.4, 4.4). */
import { accountPath, deleteRequest, type Endpoint } from './endpoint.ts'
import { cardTypes } from './creativeResources.ts'
import { accountId, body, cursor, idFilter, path, query, sentBySdks, sortBy, withDeleted } from './parameter.ts'
import { recordsOfAccount } from './recordEndpoints.ts'

const notes = 'docs/spec-notes.md#cards'
const cardName = { maxLength: 80, source: 'spec 8 card name' } as const

const cards = recordsOfAccount('cards', 'cards', 'card_id', 'card')
const cardsOfAllTypes = recordsOfAccount('cards', 'cards/all', 'card_id', 'card')

export const cardEndpoints = [
  {
    ...cards.list([
      query('card_types', 'csv-enum', { values: cardTypes, source: 'spec 2.4' }),
      idFilter('card_id'),
      query('card_ids', 'csv', { maxItems: 200, ...sentBySdks }),
      idFilter('card_uris'),
      query('count', 'integer', { default: 100, min: 1, max: 200, source: 'spec 8: cards 1 to 200' }),
      cursor,
      query('include_legacy_cards', 'boolean', { default: false, source: 'spec 4.4' }),
      query('q', 'string', { maxLength: 80, source: 'spec 8 card q' }),
      sortBy,
      withDeleted,
    ]),
    source: 'spec 4.4',
  },
  {
    ...cardsOfAllTypes.list([query('card_uris', 'csv', { required: true, maxItems: 200, source: notes }), withDeleted]),
    name: 'cards.all',
    source: notes,
  },
  {
    ...cardsOfAllTypes.get([withDeleted]),
    name: 'cards.allById',
    outsideSpec: true,
    source: 'outside the specification: official SDKs load a card of any type by its id',
  },
  {
    ...cards.get([withDeleted]),
    source: 'spec 4.4; docs/spec-notes.md#echoes-and-cursors: an array of one in the sample, switch card_response',
  },
  {
    ...cards.create([
      body('name', 'string', { required: true, ...cardName }),
      body('components', 'array', { source: 'spec 2.4 card component' }),
      body('slides', 'array', { source: 'spec 4.4' }),
    ]),
    body: 'json',
    rules: [
      { kind: 'exactly-one', names: ['components', 'slides'], source: 'spec 4.4' },
      { kind: 'other', text: 'one media component and either a DETAILS or a BUTTON component', source: 'spec 4.4' },
      {
        kind: 'other',
        text: 'SWIPEABLE_MEDIA has 2 to 6 media keys; a website destination only in DETAILS, an app destination only in BUTTON',
        source: 'spec 2.4; spec 8',
      },
    ],
    source: 'spec 4.4',
  },
  {
    ...cards.update([
      body('name', 'string', { minLength: 1, ...cardName }),
      body('components', 'array', { source: 'spec 4.4' }),
      body('slides', 'array', { source: 'spec 4.4' }),
    ]),
    body: 'json',
    rules: [
      { kind: 'exclusive', names: ['components', 'slides'], source: 'spec 4.4' },
      { kind: 'other', text: 'each field given replaces the stored value', source: 'spec 4.4' },
    ],
    source: 'spec 4.4; docs/spec-notes.md#cards',
  },
  { ...cards.delete, source: notes },
  {
    name: 'legacyCards.delete',
    ...deleteRequest,
    path: `${accountPath}/cards/:card_type/:card_id`,
    parameters: [accountId, path('card_type'), path('card_id')],
    rules: [{ kind: 'other', text: '`card_type` is a legacy type in lower case, such as image_conversation', source: 'spec 4.4' }],
    answer: { resource: 'card', many: false },
    source: 'spec 4.4',
  },
] as const satisfies readonly Endpoint[]

/** Defines the creatives area: account media, media library, cards (spec 4.4). */
import { defineArea } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { cardHandlers } from './cards.ts'
import { mediaHandlers } from './media.ts'
import { createCreativesState } from './seed.ts'
import { specialCardHandlers } from './specialCards.ts'

export const creativesArea = defineArea({
  ref: areaRefs.creatives,
  createState: createCreativesState,
  handlers: { ...mediaHandlers, ...cardHandlers, ...specialCardHandlers },
})

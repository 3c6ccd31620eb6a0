import { FrequentValues, type StoredFrequent } from './frequentValues.ts'
import { TraitBook, tracked, type StoredTraits } from './rowTraits.ts'

/** More products than this in one item group, more rows than this with one identifier: told. */
export const groupRows = 100
export const repeatedRows = 50

/** Over all sources of a reading. */
export interface QualityBooks {
  readonly traits: TraitBook
  readonly groups: FrequentValues
  readonly identifiers: FrequentValues
}

/** JSON: what the next reading has to know of the rows that it will not look at. */
export interface StoredQuality extends StoredTraits {
  readonly groups: StoredFrequent
  readonly identifiers: StoredFrequent
  /** The next reading has to look at every row. */
  readonly due: boolean
}

/** `gated`: rows that `stored` speaks of are not looked at; otherwise all are, and it only says what to watch. */
export function openBooks(stored?: StoredQuality, gated = false): QualityBooks {
  const traits = new TraitBook(gated ? stored : undefined)
  return {
    traits,
    groups: new FrequentValues(traits, { code: tracked.group, limit: groupRows, before: stored?.groups, gated }),
    identifiers: new FrequentValues(traits, { code: tracked.identifier, limit: repeatedRows, before: stored?.identifiers, gated }),
  }
}

export function closeBooks({ traits, groups, identifiers }: QualityBooks): StoredQuality {
  return { ...traits.stored(), groups: groups.stored(), identifiers: identifiers.stored(), due: groups.due || identifiers.due }
}

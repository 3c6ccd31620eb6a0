/** State of the creatives area: records in wire form (spec 2.4). */
import type { AccountRecord, Table } from '../accountRecords.ts'
import type { StoredRecord } from '../storedRecord.ts'

/** Component of a card (spec 2.4). */
export type Component = Readonly<Record<string, unknown>>

export type AccountMedia = StoredRecord<'accountMedia'>

/** Component card or legacy card (spec 2.4). */
export interface Card extends AccountRecord {
  name: string
  card_uri: string
  card_type: string
  components: readonly Component[]
  /** Set only for a multi-destination carousel. */
  slides?: readonly (readonly Component[])[]
}

/** Object of the media library (spec 2.4). `duration`: milliseconds; null for images. */
export interface MediaObject extends Omit<StoredRecord<'mediaLibraryObject'>, 'media_type' | 'aspect_ratio'> {
  media_type: 'GIF' | 'IMAGE' | 'VIDEO'
  aspect_ratio: string
}

/** Poll or video conversation card in wire form. */
export type SpecialCard = AccountRecord & { name: string; card_uri: string; card_type: string } & Record<string, unknown>

export interface CreativesState {
  readonly accountMedia: Table<AccountMedia>
  readonly cards: Table<Card>
  readonly legacyCards: Table<Card>
  readonly polls: Table<SpecialCard>
  readonly conversations: Table<SpecialCard>
  /** Media libraries: media objects by account id, then by media key. */
  readonly media: Table<MediaObject>
}

export function cardTables({ cards, legacyCards, polls, conversations }: CreativesState): readonly Table<Card | SpecialCard>[] {
  return [cards, legacyCards, polls, conversations]
}

/** Returns true if the account has a card with the URI that is not deleted. */
export function hasCard(state: CreativesState, accountId: string, uri: string): boolean {
  return cardTables(state).some((table) =>
    [...(table.get(accountId)?.values() ?? [])].some((card) => card.card_uri === uri && !card.deleted),
  )
}

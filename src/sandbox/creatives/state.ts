/** State of the creatives area: records in wire form (spec 2.4). */
import type { AccountRecord, Table } from '../accountRecords.ts'

/** Component of a card (spec 2.4). */
export type Component = Readonly<Record<string, unknown>>

/** Account media (spec 2.4). */
export interface AccountMedia extends AccountRecord {
  video_id: string | null
  media_url: string | null
  creative_type: string
}

/** Component card or legacy card (spec 2.4). */
export interface Card extends AccountRecord {
  name: string
  card_uri: string
  card_type: string
  components: readonly Component[]
  /** Set only for a multi-destination carousel. */
  slides?: readonly (readonly Component[])[]
}

/** Object of the media library (spec 2.4). */
export interface MediaObject {
  readonly media_key: string
  media_type: 'GIF' | 'IMAGE' | 'VIDEO'
  media_category: string
  media_status: string
  media_url: string
  name: string | null
  file_name: string | null
  title: string | null
  description: string | null
  /** Milliseconds; null for images. */
  duration: number | null
  poster_media_url: string | null
  poster_media_key: string | null
  aspect_ratio: string
  tweeted: boolean
  created_at: string
  updated_at: string
  deleted: boolean
}

/** Poll or video conversation card in wire form. */
export type SpecialCard = AccountRecord & { name: string; card_uri: string; card_type: string } & Record<string, unknown>

export interface CreativesState {
  readonly accountMedia: Table<AccountMedia>
  readonly cards: Table<Card>
  readonly legacyCards: Table<Card>
  readonly polls: Table<SpecialCard>
  /** Video conversation cards. */
  readonly conversations: Table<SpecialCard>
  /** Media libraries: media objects by account id, then by media key. */
  readonly media: Table<MediaObject>
}

/** Returns the tables of all types of cards. */
export function cardTables({ cards, legacyCards, polls, conversations }: CreativesState): readonly Table<Card | SpecialCard>[] {
  return [cards, legacyCards, polls, conversations]
}

/** Returns true if the account has a card with the URI that is not deleted. */
export function hasCard(state: CreativesState, accountId: string, uri: string): boolean {
  return cardTables(state).some((table) =>
    [...(table.get(accountId)?.values() ?? [])].some((card) => card.card_uri === uri && !card.deleted),
  )
}

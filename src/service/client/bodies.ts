/**
 * Types of JSON bodies: products, user operations, card components, filters, subscriptions.
 *
 * Written out, so that editors show each field with its rule and its section of the specification (docs/spec-notes.md). The assertions at the
 * end fail the type check when they and the contract differ.
 */
import type { doNotReachIdentifiers, filterAttributes, filterOperators, productFields, userIdentifiers } from '../contract/resources.ts'

/** A price: a number with `.` as decimal point, a space, and an ISO 4217 code, such as `9.50 EUR` (spec 2.2). */
export type Price = `${number} ${string}`

interface ProductFields {
  /** Unique item id, the merchant's SKU if possible; at most 100 characters. All instances of a repeated id are ignored (spec 2.2). */
  readonly id: string
  /** At most 150 characters; matches the name on the landing page (spec 2.2). */
  readonly title: string
  /** Plain text without HTML; at most 5,000 characters (spec 2.2). */
  readonly description: string
  /** With `in stock`, an `inventory` must be 1 or more (spec 2.2). */
  readonly availability: 'in stock' | 'available for order' | 'preorder' | 'out of stock' | 'discontinued'
  /** Condition of the item (spec 2.2). */
  readonly condition: 'new' | 'used' | 'refurbished'
  /** Number, space, ISO 4217 code: `9.50 EUR` (spec 2.2). */
  readonly price: Price
  /** Product page; https (spec 2.2). */
  readonly link: `https://${string}`
  /** JPG, GIF, WEBP or PNG, at least 500 × 500 pixels, at most 5 MB (spec 2.2, spec 8). */
  readonly image_link: string
  /** Made by the service; ignored on write (spec 2.2). */
  readonly product_key?: string | null
  /** Page for mobile devices; https (spec 2.2). */
  readonly mobile_link?: `https://${string}` | null
  /** Up to 10 addresses, joined by commas (spec 2.2, spec 8). */
  readonly additional_image_link?: string | null
  /** Path or id in the external product taxonomy (spec 2.2). */
  readonly google_product_category?: string | null
  /** Own taxonomy, levels separated by ` > ` (spec 2.2). */
  readonly product_type?: string | null
  /** Items in stock, a whole number (spec 2.2). */
  readonly inventory?: number | null
  /** Lower than `price`, in the same form (spec 2.2). */
  readonly sale_price?: Price | null
  /** Two ISO 8601 times with offset, joined by `/` (spec 2.2). */
  readonly sale_price_effective_date?: `${string}/${string}` | null
  /** Groups the variants of one product (spec 2.2). */
  readonly item_group_id?: string | null
  /** Made by the service (spec 2.2). */
  readonly item_group_key?: string | null
  readonly gender?: 'female' | 'male' | 'unisex' | null
  /** A word, not a hex code (spec 2.2). */
  readonly color?: string | null
  readonly size?: string | null
  readonly age_group?: 'adult' | 'all ages' | 'teen' | 'kids' | 'toddler' | 'infant' | 'newborn' | null
  readonly custom_label_0?: string | null
  readonly custom_label_1?: string | null
  readonly custom_label_2?: string | null
  readonly custom_label_3?: string | null
  readonly custom_label_4?: string | null
}

interface Brand {
  /** Required when `gtin` and `mpn` are absent (spec 2.2). */
  readonly brand: string
}
interface Gtin {
  /** UPC, EAN, JAN or ISBN. Required when `brand` and `mpn` are absent (spec 2.2). */
  readonly gtin: string
}
interface Mpn {
  /** Required when `brand` and `gtin` are absent (spec 2.2). */
  readonly mpn: string
}
type OrNull<T> = { readonly [K in keyof T]?: T[K] | null }

/** A product as it is written (spec 2.2). At least one of `brand`, `gtin` and `mpn` is given. */
export type ProductInput = ProductFields & ((Brand & OrNull<Gtin & Mpn>) | (Gtin & OrNull<Brand & Mpn>) | (Mpn & OrNull<Brand & Gtin>))

/** One condition of a FILTERED product set (spec 2.2). */
export interface ProductSetFilter {
  readonly attribute: (typeof filterAttributes)[number]
  readonly operator: (typeof filterOperators)[number]
  readonly value: string
}

/** Identifiers of one person: SHA-256 of the normal form, 64 lower-case hex digits (spec 2.3, docs/spec-notes.md#normalization). */
export interface UserIdentifiers {
  readonly email?: readonly string[]
  readonly device_id?: readonly string[]
  readonly handle?: readonly string[]
  readonly service_id?: readonly string[]
  readonly phone_number?: readonly string[]
  /** Your own id of the person; sent as it is, never hashed (spec 2.3). */
  readonly partner_user_id?: readonly string[]
}

/** One operation of an audience upload (spec 4.3). At most 2,500 a request, within 5,000,000 bytes (spec 8). */
export interface UserOperation {
  readonly operation_type: 'Update' | 'Delete'
  readonly params: {
    readonly users: readonly UserIdentifiers[]
    /** Start of the membership; now when absent (spec 4.3). */
    readonly effective_at?: string | Date
    /** End of the membership, later than `effective_at`; 13 months when absent (spec 4.3, spec 8). */
    readonly expires_at?: string | Date
  }
}

/** One operation of a do-not-reach upload: emails and phones only, no `effective_at` (spec 2.3, spec 4.3). */
export interface DoNotReachOperation {
  readonly operation_type: 'Update' | 'Delete'
  readonly params: {
    readonly users: readonly Pick<UserIdentifiers, 'email' | 'phone_number'>[]
    /** Under 13 months ahead (spec 4.3). */
    readonly expires_at?: string | Date
  }
}

/** Text of a button (spec 2.4). */
export interface ButtonLabel {
  readonly type: 'ENUM'
  readonly value: 'BOOK' | 'CONNECT' | 'INSTALL' | 'OPEN' | 'ORDER' | 'PLAY' | 'SHOP'
}

/** Destination of DETAILS (spec 2.4). */
export interface WebsiteDestination {
  readonly type: 'WEBSITE'
  readonly url: string
}

interface AppDestinationFields {
  readonly type: 'APP'
  /** ISO 3166-1 alpha-2 (spec 2.4). */
  readonly country_code: string
  /** Only with `googleplay_app_id` (spec 2.4). */
  readonly googleplay_deep_link?: string
  /** Only with `ios_app_store_identifier` (spec 2.4). */
  readonly ios_deep_link?: string
}

/** Destination of BUTTON: at least one of the two app ids (spec 2.4). */
export type AppDestination = AppDestinationFields &
  (
    | { readonly googleplay_app_id: string; readonly ios_app_store_identifier?: string }
    | { readonly ios_app_store_identifier: string; readonly googleplay_app_id?: string }
  )

/** A component of a card (spec 2.4). A card has one media component, and DETAILS or BUTTON (spec 4.4). */
export type CardComponent =
  | { readonly type: 'MEDIA'; readonly media_key: string }
  /** 2 to 6 media keys (spec 8). */
  | { readonly type: 'SWIPEABLE_MEDIA'; readonly media_keys: readonly [string, string, ...string[]] }
  | { readonly type: 'DETAILS'; readonly title: string; readonly destination: WebsiteDestination }
  | { readonly type: 'BUTTON'; readonly label: ButtonLabel; readonly destination: AppDestination }

/** A criterion of an audience estimate (spec 4.8). */
export interface TargetingCriterion {
  readonly targeting_type: string
  readonly targeting_value: string
  readonly operator_type?: 'EQ' | 'NE' | 'GTE' | 'LT'
}

/** One operation of a batch: the parameters of a create, of an update with the record's id, or that id alone (spec 4.8). */
export type BatchOperation<Create, Update, Id extends string> =
  | { readonly operation_type: 'Create'; readonly params: Omit<Create, 'account_id'> }
  | { readonly operation_type: 'Update'; readonly params: Omit<Update, 'account_id'> }
  | { readonly operation_type: 'Delete'; readonly params: { readonly [K in Id]: string } }

/** Which events a subscription delivers (spec 6.2). */
export interface ActivityFilter {
  readonly user_id?: string
  readonly keyword?: string
  /** Filter for direct messages and chats; both when absent (spec 6.2). */
  readonly direction?: 'sent' | 'received' | 'inbound' | 'outbound'
}

/** Names of activity events (spec 6.2); the service knows more. */
export type ActivityEvent =
  | 'post.create'
  | 'post.delete'
  | 'profile.update.bio'
  | 'profile.update.verified'
  | 'profile.update.affiliate'
  | 'profile.update.screenname'
  | 'spaces.start'
  | 'spaces.end'
  | 'dm.received'
  | 'dm.sent'
  | 'dm.read'
  | 'dm.indicate_typing'
  | `${string}.${string}`

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never
type NameOf<F> = F extends { readonly name: infer N } ? N : never
type ContractFields = (typeof productFields)[number]
type KeysOfUnion<T> = T extends unknown ? keyof T : never
type EnumOf<N extends keyof ProductFields> =
  Extract<ContractFields, { readonly name: N }> extends { readonly values: readonly (infer V)[] } ? V : never

/** `true` where these types and the contract agree; the type check fails where they do not. */
export const agreesWithContract: readonly [
  Same<KeysOfUnion<ProductInput>, NameOf<ContractFields>>,
  Same<ProductFields['availability'], EnumOf<'availability'>>,
  Same<ProductFields['condition'], EnumOf<'condition'>>,
  Same<NonNullable<ProductFields['gender']>, EnumOf<'gender'>>,
  Same<NonNullable<ProductFields['age_group']>, EnumOf<'age_group'>>,
  Same<keyof UserIdentifiers, (typeof userIdentifiers)[number]>,
  Same<keyof DoNotReachOperation['params']['users'][number], (typeof doNotReachIdentifiers)[number]>,
] = [true, true, true, true, true, true, true]

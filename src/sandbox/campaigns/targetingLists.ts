/** Options of the targeting lookups. Most are invented. */

/** Option of a targeting lookup, in wire form. */
export interface TargetingOption {
  readonly name: string
  readonly [field: string]: string | number | boolean | null
}

/** Returns an option for each name. Its value is its position, from 1, in base 36. */
const numberedOptions = (type: string, names: readonly string[]): TargetingOption[] =>
  names.map((name, index) => ({ name, targeting_type: type, targeting_value: (index + 1).toString(36) }))

/** Countries. `id`: targeting value. `posts/seed.ts` has the first id as a `place_id`. */
export const countryTargets: readonly (readonly [code: string, name: string, id: string])[] = [
  ['US', 'United States', '96683cc9126741d1'],
  ['DE', 'Germany', 'fdcd221ac44fa326'],
  ['FR', 'France', 'f3bfc7dcc928977f'],
  ['GB', 'United Kingdom', '6416b8512febefc9'],
  ['JP', 'Japan', '06ef846bfc783874'],
  ['BR', 'Brazil', '1b107df3ccc0aaa1'],
  ['CA', 'Canada', '3376992a082d67c7'],
  ['ES', 'Spain', 'ecdce75d48b13b64'],
  ['IT', 'Italy', 'c799e2d3a79f810e'],
  ['IN', 'India', 'b850c1bfd38f30e0'],
  ['AU', 'Australia', '3f14ce28dc7c4566'],
  ['MX', 'Mexico', '25530ba03b7d90c6'],
]

const locations: TargetingOption[] = [
  ...countryTargets.map(([code, name, id]) => ({
    name,
    country_code: code,
    location_type: 'COUNTRIES',
    targeting_type: 'LOCATION',
    targeting_value: id,
  })),
  ...[
    ['California, US', 'US', 'REGIONS', 'fbd6d2f5a4e4a15e'],
    ['Berlin, DE', 'DE', 'REGIONS', '3078869807f9dd36'],
    ['San Francisco-Oakland-San Jose CA, US', 'US', 'METROS', '5a110d312052166f'],
    ['Munich, Bavaria, DE', 'DE', 'CITIES', 'e385d4d639c6a423'],
    ['10115, Berlin, DE', 'DE', 'POSTAL_CODES', '7d893ca2441b0c21'],
  ].map(([name = '', code = '', type = '', id = '']) => ({
    name,
    country_code: code,
    location_type: type,
    targeting_type: 'LOCATION',
    targeting_value: id,
  })),
]

/** Options by lookup: those of `locations` are for the endpoint `targetingLookups.locations`. */
export const targetingLists: Readonly<Record<string, readonly TargetingOption[]>> = {
  appStoreCategories: ['Games', 'Shopping', 'Travel'].flatMap((name, index) =>
    ['ANDROID', 'IOS'].map((os, nth) => ({
      name,
      os_type: os,
      targeting_type: 'APP_STORE_CATEGORY',
      targeting_value: (100 + index * 2 + nth).toString(36),
    })),
  ),
  conversations: [
    ['Cooking', 'LIFESTYLES'],
    ['Football', 'SPORTS'],
    ['Crafts', 'LIFESTYLES'],
  ].map(([name = '', type = ''], index) => ({
    name,
    conversation_type: type,
    targeting_type: 'CONVERSATION',
    targeting_value: `a${index + 1}`,
  })),
  devices: ['Phone 5', 'Tablet 2'].map((name, index) => ({
    name,
    manufacturer: 'Example',
    targeting_type: 'DEVICE',
    targeting_value: `d${index + 1}`,
  })),
  events: [
    {
      id: '1ex',
      name: 'Spring fair',
      event_type: 'CONFERENCE',
      country_code: 'DE',
      is_global: false,
      start_time: '2027-03-01T00:00:00Z',
      end_time: '2027-03-04T00:00:00Z',
    },
    {
      id: '1ey',
      name: 'New Year',
      event_type: 'HOLIDAY',
      country_code: null,
      is_global: true,
      start_time: '2027-01-01T00:00:00Z',
      end_time: '2027-01-02T00:00:00Z',
    },
  ],
  interests: numberedOptions('INTEREST', ['Arts and crafts', 'Cooking', 'Home and garden', 'Sports', 'Travel']),
  languages: [
    ['en', 'English'],
    ['de', 'German'],
    ['fr', 'French'],
    ['es', 'Spanish'],
    ['ja', 'Japanese'],
    ['pt', 'Portuguese'],
  ].map(([code = '', name = '']) => ({
    name,
    targeting_type: 'LANGUAGE',
    targeting_value: code,
  })),
  locations,
  networkOperators: ['US', 'DE'].map((code, index) => ({
    name: `Example Mobile ${code}`,
    country_code: code,
    targeting_type: 'NETWORK_OPERATOR',
    targeting_value: `n${index + 1}`,
  })),
  platforms: numberedOptions('PLATFORM', ['iOS', 'Android', 'Desktop and laptop computers', 'Mobile web on other devices']),
  platformVersions: ['17.0', '18.0'].map((number, index) => ({
    name: 'iOS',
    number,
    os_type: 'IOS',
    platform: 'iOS',
    targeting_type: 'PLATFORM_VERSION',
    targeting_value: `v${index + 1}`,
  })),
  tvMarkets: [
    { name: 'Germany', country_code: 'DE', locale: 'de-DE' },
    { name: 'United States', country_code: 'US', locale: 'en-US' },
  ],
  tvShows: [
    {
      name: 'Pots and pans',
      genre: 'REALITY',
      locale: 'en-US',
      estimated_users: 61_000,
      targeting_type: 'TV_SHOW',
      targeting_value: '10027',
    },
    { name: 'Am Herd', genre: 'REALITY', locale: 'de-DE', estimated_users: 42_000, targeting_type: 'TV_SHOW', targeting_value: '10028' },
  ],
}

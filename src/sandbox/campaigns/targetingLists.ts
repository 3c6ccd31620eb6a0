/** Options of the targeting lookups. Most are invented. */

/** Option of a targeting lookup, in wire form. */
export interface TargetingOption {
  readonly name: string
  readonly [field: string]: string | number | boolean | null
}

/** Returns an option whose last fields are its type and value. */
const optionOf = (type: string, value: string, fields: TargetingOption): TargetingOption => ({
  ...fields,
  targeting_type: type,
  targeting_value: value,
})

/** Returns an option for each name. Its value is its position, from 1, in base 36. */
const numberedOptions = (type: string, names: readonly string[]): TargetingOption[] =>
  names.map((name, index) => optionOf(type, (index + 1).toString(36), { name }))

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
  ...countryTargets.map(([code, name, id]) => [name, code, 'COUNTRIES', id] as const),
  ['California, US', 'US', 'REGIONS', 'fbd6d2f5a4e4a15e'] as const,
  ['Berlin, DE', 'DE', 'REGIONS', '3078869807f9dd36'] as const,
  ['San Francisco-Oakland-San Jose CA, US', 'US', 'METROS', '5a110d312052166f'] as const,
  ['Munich, Bavaria, DE', 'DE', 'CITIES', 'e385d4d639c6a423'] as const,
  ['10115, Berlin, DE', 'DE', 'POSTAL_CODES', '7d893ca2441b0c21'] as const,
].map(([name, code, type, id]) => optionOf('LOCATION', id, { name, country_code: code, location_type: type }))

/** Options by lookup: those of `locations` are for the endpoint `targetingLookups.locations`. */
export const targetingLists: Readonly<Record<string, readonly TargetingOption[]>> = {
  appStoreCategories: ['Games', 'Shopping', 'Travel'].flatMap((name, index) =>
    ['ANDROID', 'IOS'].map((os, nth) => optionOf('APP_STORE_CATEGORY', (100 + index * 2 + nth).toString(36), { name, os_type: os })),
  ),
  conversations: [
    ['Cooking', 'LIFESTYLES'],
    ['Football', 'SPORTS'],
    ['Crafts', 'LIFESTYLES'],
  ].map(([name = '', type = ''], index) => optionOf('CONVERSATION', `a${index + 1}`, { name, conversation_type: type })),
  devices: ['Phone 5', 'Tablet 2'].map((name, index) => optionOf('DEVICE', `d${index + 1}`, { name, manufacturer: 'Example' })),
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
  ].map(([code = '', name = '']) => optionOf('LANGUAGE', code, { name })),
  locations,
  networkOperators: ['US', 'DE'].map((code, index) =>
    optionOf('NETWORK_OPERATOR', `n${index + 1}`, { name: `Example Mobile ${code}`, country_code: code }),
  ),
  platforms: numberedOptions('PLATFORM', ['iOS', 'Android', 'Desktop and laptop computers', 'Mobile web on other devices']),
  platformVersions: ['17.0', '18.0'].map((number, index) =>
    optionOf('PLATFORM_VERSION', `v${index + 1}`, { name: 'iOS', number, os_type: 'IOS', platform: 'iOS' }),
  ),
  tvMarkets: [
    { name: 'Germany', country_code: 'DE', locale: 'de-DE' },
    { name: 'United States', country_code: 'US', locale: 'en-US' },
  ],
  tvShows: [
    optionOf('TV_SHOW', '10027', { name: 'Pots and pans', genre: 'REALITY', locale: 'en-US', estimated_users: 61_000 }),
    optionOf('TV_SHOW', '10028', { name: 'Am Herd', genre: 'REALITY', locale: 'de-DE', estimated_users: 42_000 }),
  ],
}

/** Defines the schema of pipeline files. */
import { createRequire } from 'node:module'
import type * as croner from 'croner'
import { z } from 'zod'
import { qualityCodes, notePropertiesOf } from '../mapping/statistics/qualityCodes.ts'
import { unknownYes } from '../mapping/consent/proposeTest.ts'
import { acceptedWords } from '../mapping/products/vocabulary.ts'
import { argumentFault, transforms } from '../mapping/transforms.ts'
import { parseInstant } from '../mapping/instant.ts'
import type { FieldMapping } from '../model/pipeline.ts'
import { destinationSettings, type DestinationSettings } from '../destinations/index.ts'
import { column, count, oneOf, strict, scalarText, text, unknownNameMessage } from '../settings/values.ts'
import { joinSchema, sourceSchema } from './sourceSchema.ts'

const percent = z
  .number('must be a number from 0 to 100')
  .min(0, 'must be a number from 0 to 100')
  .max(100, 'must be a number from 0 to 100')

const columnList = z.array(column, 'must be a list of columns').min(1, 'must have at least one column')
const wordList = z.array(scalarText, 'must be a list of values').min(1, 'must have at least one value')
export const removeSchema = strict({ column, values: wordList })
const isoDate = z
  .union([z.string(), z.date()], 'must be a date such as "2025-01-31"')
  .transform((given) => (given instanceof Date ? given.toISOString() : given))
  .refine((text) => parseInstant(text, 'utc-midnight') !== undefined, 'must be a date such as "2025-01-31"')
const msOf = (date: string) => parseInstant(date, 'utc-midnight')?.ms ?? Number.NaN
const consentTest = strict({
  column,
  values: wordList
    .refine((values) => !values.includes(unknownYes), `must name the values that mean yes, instead of ${unknownYes}`)
    .optional(),
  not_values: wordList.optional(),
  before: isoDate.optional(),
  after: isoDate.optional(),
  for: oneOf(['email', 'phone_number']).optional(),
})
  .refine(
    ({ values, not_values, before, after }) => [values, not_values, before ?? after].filter((given) => given !== undefined).length === 1,
    'needs exactly one of: values (that mean yes), not_values (that mean no), or before and after for dates',
  )
  .refine(
    ({ before, after }) => before === undefined || after === undefined || msOf(after) < msOf(before),
    'needs before to be later than after; otherwise no date means yes',
  )

const schedule = z
  .string('must be a cron expression')
  .refine((expression) => parseCron(expression) !== undefined, {
    message: 'is not a cron expression of five or six fields, for example "*/30 * * * *"',
    abort: true,
  })
  .refine(
    (expression) => parseCron(expression)?.nextRun() !== null,
    'never runs, because no date matches it: correct the day or the month, or remove the schedule',
  )

let cronLibrary: typeof croner | undefined

/** Returns a parsed cron expression of five or six fields; undefined for any other text. */
function parseCron(expression: string): croner.Cron | undefined {
  const fields = expression.trim().split(/\s+/).length
  if (fields !== 5 && fields !== 6) return undefined
  // Loaded by the first schedule, because many pipelines have none. `require` has no types.
  cronLibrary ??= createRequire(import.meta.url)('croner') as typeof croner
  const { Cron } = cronLibrary
  try {
    return new Cron(expression, { paused: true, timezone: 'UTC' })
  } catch {
    return undefined
  }
}

const timezone = z.string('must be an IANA time zone').refine((zone) => {
  if (!/^[A-Za-z]/.test(zone)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}, 'is not an IANA time zone, for example Europe/Berlin')

/**
 * Name of the argument for a plain value, by transform: `{ prefix: X }` is `{ prefix: { with: X } }`. For other transforms the name is
 * `value`, which no transform has, so the plain value is rejected.
 */
const shorthand: Readonly<Record<string, string>> = { prefix: 'with', split: 'at', join: 'with', date: 'form' }

const transform = z
  .custom<string | Readonly<Record<string, unknown>>>(
    (given) => typeof given === 'string' || (typeof given === 'object' && given !== null && !Array.isArray(given)),
    'must be the name of a transform, or { name: arguments }',
  )
  .transform((given, context) => {
    const entries: [string, unknown][] = typeof given === 'string' ? [[given, undefined]] : Object.entries(given)
    return entries.flatMap(([name, value]) => {
      const entry = transforms[name]
      if (entry === undefined) {
        context.addIssue({ code: 'custom', message: unknownNameMessage('transform', name, Object.keys(transforms)) })
        return []
      }
      const args = argumentsOf(name, value)
      const fault = argumentFault(entry, args)
      if (fault !== undefined) context.addIssue({ code: 'custom', message: `${name} ${fault}, for example ${entry.example}` })
      return [{ name, args }]
    })
  })

function argumentsOf(name: string, value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null || value === true) return {}
  if (typeof value !== 'object' || Array.isArray(value)) return { [shorthand[name] ?? 'value']: value }
  return name === 'map' && !('values' in value) ? { values: value } : { ...value }
}

type Compute = NonNullable<FieldMapping['compute']>

/** Schema of one field under `map`, except `remove`. */
export const fieldSchema = z.union(
  [
    column,
    columnList,
    z.custom<Compute>((value) => typeof value === 'function'),
    strict({
      column: z.union([column, columnList], 'must be a column or a list of columns').optional(),
      columns: columnList.optional(),
      const: scalarText.optional(),
      default: scalarText.optional(),
      default_country: text('a column or an ISO country code').optional(),
      hashed: z.boolean('must be true or false').optional(),
      transform: z
        .preprocess((given) => (given === undefined || Array.isArray(given) ? given : [given]), z.array(transform).optional())
        .optional(),
      compute: z.custom<Compute>((value) => typeof value === 'function', 'must be a function (TypeScript pipelines only)').optional(),
    }).refine(
      (given) => [given.column, given.columns, given.const, given.default, given.compute].some((one) => one !== undefined),
      'needs a column, columns, const, default or compute',
    ),
  ],
  {
    error: (issue) =>
      typeof issue.input === 'object' && issue.input !== null ? undefined : 'must be a column, a list of columns, or { column, … }',
  },
)

/** Settings of a destination. The schema is built at the first use, when all destination types are registered. */
const destination = z.lazy(() => destinationSettings())

/** Values of `options.allow`: exceptions from the default handling of inputs (docs/inputs.md, docs/mapping.md). */
export const allowances = [
  'cut_title',
  'cut_description',
  'upgrade_http',
  'zero_price',
  'price_code_first',
  'wide_digits',
  'wrapped_email',
  'split_lists',
  'idn_to_ascii',
  'both_idn_forms',
  'both_phone_forms',
  'base64_hash',
] as const

/** Values of `options.refuse`: names of inputs that are accepted by default (docs/inputs.md). */
export const refusals = ['http_image', 'zero_price'] as const

/** Notes that `guards.hold` and `guards.accept` may name. */
export const guardedCodes: readonly [string, ...string[]] = [
  'OWNER_COLUMN',
  'CONSENT_UNMAPPED',
  'CONSENT_UNKNOWN',
  'FILTER_UNKNOWN',
  'EXPIRY_UNKNOWN',
  'LEFT_UNMAPPED',
  'LINK_HOST_OTHER',
  'PRICE_ZERO',
  ...Object.keys(qualityCodes).filter((code) => notePropertiesOf(code).isLate !== true),
]

/** Schema of the name of a market, a set of credentials or a receiver of alerts. */
export const nameSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'must be a name of letters, digits, . - and _')

const filter = z.record(
  column,
  z.union([scalarText, z.array(scalarText).min(1, 'must have at least one value')], 'must be a value or a list of values'),
  'must name columns and their values, such as { country: [DE, AT] }',
)

const guards = strict({
  min_rows: count(0).optional(),
  max_delete_count: count(0).optional(),
  max_delete_percent: percent.optional(),
  max_reject_percent: percent.optional(),
  max_out_of_stock_percent: percent.optional(),
  max_price_change_percent: z.number('must be a number from 0').min(0, 'must be a number from 0').optional(),
  hold: z.array(oneOf(guardedCodes)).optional(),
  accept: z.array(oneOf(guardedCodes)).optional(),
})

/** Returns the schema of `options.values` for one field: words of the source, each with the word of the service for it. */
const wordsFor = (field: keyof typeof acceptedWords) => {
  const [first = '', ...others] = acceptedWords[field]
  return z.record(z.string(), oneOf([first, ...others]), 'must be a mapping from your words to words of the service').optional()
}

const host = text('a host such as shop.example.com').regex(
  /^[^\s:/@]+$/,
  'must be a host such as shop.example.com, without https:// and port',
)

const options = strict({
  timezone: timezone.optional(),
  default_currency: z
    .string()
    .regex(/^[A-Za-z]{3}$/, 'must be a currency code such as EUR')
    .optional(),
  max_id_length: count(1, 100).optional(),
  image_sample: count(1, 100).optional(),
  link_hosts: z.array(host).optional(),
  allow: z.array(oneOf(allowances)).optional(),
  refuse: z.array(oneOf(refusals)).optional(),
  values: strict({
    availability: wordsFor('availability'),
    condition: wordsFor('condition'),
    gender: wordsFor('gender'),
    age_group: wordsFor('age_group'),
  }).optional(),
})

/** Schema of `markets`: several destinations for the rows of one source. Each market becomes a pipeline (markets.ts). */
const markets = z
  .record(
    nameSchema,
    strict({
      destination,
      join: joinSchema.optional(),
      only: filter.optional(),
      except: filter.optional(),
      credentials: nameSchema.optional(),
      guards: guards.optional(),
      options: options.optional(),
    }),
    'must name markets, such as { de: { destination: { kind: catalog, catalog_id: "1234" } } }',
  )
  .refine((given) => Object.keys(given).length > 0, 'must name at least one market')

const settings = {
  schedule: schedule.optional(),
  timezone: timezone.optional(),
  overlap: oneOf(['skip', 'queue']).optional(),
  source: z.preprocess(
    (given) => (typeof given === 'string' ? { url: given } : given),
    z.union([sourceSchema, z.array(sourceSchema, 'must be a source or a list of sources').min(1, 'needs at least one source')]),
  ),
  preset: text('the name of a preset').optional(),
  map: z.record(z.string(), z.unknown(), 'must list target fields').optional(),
  consent: z
    .union(
      [
        z.literal('none'),
        consentTest,
        z.array(consentTest, 'must be none, { column, values } or a list of these').min(1, 'needs at least one column'),
      ],
      'must be none, { column, values } or a list of these',
    )
    .optional(),
  ignore: z
    .union([column.transform((name) => [name]), z.array(column, 'must be a list of columns')], 'must be a list of columns')
    .optional(),
  duplicates: oneOf(['reject', 'last']).optional(),
  only: filter.optional(),
  except: filter.optional(),
  credentials: nameSchema.optional(),
  alerts: z.array(nameSchema, 'must be a list of names').optional(),
  stale_after_runs: count(1, 10_000).optional(),
  destination,
  guards: guards.optional(),
  options: options.optional(),
  markets: markets.optional(),
}

/** Schema of a pipeline file without `markets`, or of one market merged with the other settings of its file. */
export const pipelineSchema = strict(settings)

/** Schema of `defaults` in sluice.yaml: any setting, none required. Values are checked in each pipeline, after the merge. */
export const pipelineDefaultsSchema = strict(Object.fromEntries(Object.keys(settings).map((key) => [key, z.unknown().optional()])))

/** Schema of `markets` alone, because a file with markets has no `destination`. */
export const marketsSchema = strict({ markets })

/** Pipeline file after its check, without defaults. */
export type ParsedPipeline = z.output<typeof pipelineSchema>
/** Pipeline as it is written, for `definePipeline`. */
export type PipelineInput = Omit<z.input<typeof pipelineSchema>, 'map' | 'source' | 'destination' | 'markets'> &
  DestinationsInput & {
    readonly source: string | z.input<typeof sourceSchema> | readonly z.input<typeof sourceSchema>[]
    readonly map?: Readonly<Record<string, FieldInput | z.input<typeof removeSchema>>>
  }
type DestinationsInput =
  | { readonly destination: DestinationSettings; readonly markets?: undefined }
  | { readonly destination?: undefined; readonly markets: z.input<typeof markets> }
type FieldInput = z.input<typeof fieldSchema>
/** Field under `map` after its check. */
export type ParsedField = z.output<typeof fieldSchema>

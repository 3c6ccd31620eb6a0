/** Defines the schema of `source`: where rows come from, how they are read, and which file is joined to them. */
import { z } from 'zod'
import { column, count, oneOf, strict, text } from '../settings/values.ts'
import { withLowerScheme } from '../withLowerScheme.ts'

/** Schemes of source addresses. An address with another scheme is rejected before a request is sent. */
const sourceSchemes: readonly string[] = ['file', 'http', 'https', 'sftp', 's3', 'postgres', 'postgresql']

const url = z
  .string('must be a path or address')
  .min(1, 'must be a path or address')
  .max(4096, 'is longer than 4096 characters')
  .refine((value) => !/[\u0000-\u001f\u007f]/.test(value), 'contains control characters')
  .transform(withLowerScheme)
  .refine(
    (value) => {
      const scheme = /^([a-z][a-z0-9+.-]+):/.exec(value)?.[1]
      return scheme === undefined || sourceSchemes.includes(scheme)
    },
    `must be a path, or one of ${sourceSchemes.map((scheme) => `${scheme}:`).join(' ')}, or -`,
  )

/** Returns true for exactly one code point. */
function isOneCharacter(value: string): boolean {
  return value !== '' && value.length === String.fromCodePoint(value.codePointAt(0) ?? 0).length
}

const complete = z.union(
  [
    z.literal('auto'),
    strict({ marker: text('a path') }),
    strict({ manifest: text('a path') }),
    strict({ trailer: text('a text with {n}').refine((value) => value.includes('{n}'), 'must contain {n}') }),
    strict({ rows: count(0) }),
  ],
  'must be auto, { marker: path }, { manifest: path }, { trailer: "#rows={n}" } or { rows: n }',
)

const environmentName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable; a pipeline file never contains secrets')

const settings = {
  url,
  format: oneOf(['auto', 'csv', 'tsv', 'json', 'jsonl', 'google-rss', 'google-atom', 'xlsx']).optional(),
  complete: complete.optional(),
  encoding: z
    .string('must be auto or an encoding')
    .regex(/^[A-Za-z0-9._-]{2,40}$/, 'must be auto or an encoding, for example windows-1252')
    .optional(),
  compression: oneOf(['auto', 'none', 'gzip', 'zip', 'zstd']).optional(),
  member: text('the name of a member').optional(),
  sheet: text('the name of a sheet').optional(),
  csv: strict({
    delimiter: z
      .string('must be auto or a delimiter')
      .refine((value) => value === 'auto' || value === 'tab' || isOneCharacter(value), 'must be auto, tab or one character')
      .optional(),
    quote: z.string('must be a quote').refine(isOneCharacter, 'must be one character').optional(),
    header_row: z.union([z.literal('auto'), count(1, 1000)], 'must be auto or a line number from 1').optional(),
    columns: z.array(column, 'must be a list of column names').min(1).optional(),
    relaxed_quotes: z.boolean('must be true or false').optional(),
  }).optional(),
  xml: strict({
    item: text('the name of an element')
      .regex(/^[\p{L}_][\p{L}\p{N}_.-]*$/u, 'must be the name of an element, without < and prefix')
      .optional(),
    html_entities: z.boolean('must be true or false').optional(),
    repair_ampersands: z.boolean('must be true or false').optional(),
    /** Earlier name of `repair_ampersands`. */
    mend_ampersands: z.boolean('must be true or false').optional(),
  }).optional(),
  json: strict({
    records: text('the keys to the array, such as data.products').regex(
      /^[^.]+(?:\.[^.]+){0,9}$/,
      'must be keys joined by dots, such as data.products',
    ),
  }).optional(),
  query: text('a query').optional(),
  parameters: z.array(z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
  credentials: z.record(z.string(), environmentName).optional(),
  allow_private: z.boolean('must be true or false').optional(),
  host_key: z
    .string()
    .regex(/^SHA256:[A-Za-z0-9+/=]{40,}$/, 'must be SHA256:… as ssh-keygen -l prints it')
    .optional(),
}

/** Schema of a file that is joined to the rows of a source (docs/sources.md#a-price-or-stock-file-joined-by-id). */
export const joinSchema = strict({
  ...settings,
  on: z.union([column, strict({ source: column, file: column })], 'must be a column, or { source: column, file: column }'),
  columns: z.array(column, 'must be a list of column names').min(1, 'must have at least one column').optional(),
})

export const sourceSchema = strict({ ...settings, join: joinSchema.optional() })

/** Source of a pipeline file after its check, without defaults. */
export type ParsedSource = z.output<typeof sourceSchema>

/**
 * A pipeline after its file was read and checked: every default filled in, every text parsed. The schema that a
 * person's file is checked against, and the texts' forms, are in pipeline/schema.ts.
 */

export interface Pipeline {
  /** The file's name without its ending. */
  readonly name: string
  /** Path as given, for messages. */
  readonly file: string
  readonly schedule?: Schedule
  readonly sources: readonly SourceDefinition[]
  /** Preset by name (`google-shopping`, `shopify` …) or undefined: recognized by header. */
  readonly preset?: string
  readonly map: Readonly<Record<string, FieldMapping>>
  /** All of them must agree; `none`: no column decides, the preset's own neither. */
  readonly consent?: readonly ConsentTest[] | 'none'
  /** Columns that are declared irrelevant: neither consent nor identifiers are looked for in them. */
  readonly ignore?: readonly string[]
  /** Rows that ask to leave a do-not-reach list. */
  readonly remove?: ValueTest
  readonly destination: DestinationDefinition
  readonly guards: Guards
  /** `only:` and `except:`, in this order; a row must pass all of them. */
  readonly filters: readonly RowFilter[]
  /** Name of a set of credentials in sluice.yaml; the environment's without it. */
  readonly credentials?: string
  /** Receivers of alerts, by their names in sluice.yaml; its defaults without it. */
  readonly alerts?: readonly string[]
  /** So many runs with an unchanged source are reported as stale; never without it. */
  readonly staleAfterRuns?: number
  /** Keeps the last of several rows with one key and different content; without it all of them are rejected. */
  readonly duplicates?: 'last'
  /** Everything below `options` of the file that mapping reads: default currency, allowed html, id length … */
  readonly mapping: MappingOptions
  /** SHA-256 (hex) of all that decides what a row becomes: sources' reading options, map, consent, mapping options. */
  readonly definitionHash: string
  /** SHA-256 (hex) of all that a run of it does: two files of one version may share their runs (docs/decisions/fence.md). */
  readonly version: string
}

export interface Schedule {
  /** Cron, five or six fields. */
  readonly cron: string
  /** IANA zone. */
  readonly timezone: string
  readonly overlap: 'skip' | 'queue'
}

export interface SourceDefinition {
  /** Path, `file:`, `http(s):`, `sftp:`, `s3:`, `postgres:` or `-`. Relative paths are relative to the working directory. */
  readonly uri: string
  readonly format: 'auto' | 'csv' | 'tsv' | 'json' | 'jsonl' | 'google-rss' | 'google-atom' | 'xlsx'
  readonly complete: CompletenessProof
  /** `auto` or an encoding label. */
  readonly encoding: string
  readonly compression: 'auto' | 'none' | 'gzip' | 'zip' | 'zstd'
  /** Member of a zip archive. */
  readonly member?: string
  /** Sheet of a workbook; the first without it. */
  readonly sheet?: string
  readonly csv: {
    /** `auto`, or one character. */
    readonly delimiter: string
    readonly quote: string
    /** Line of the header, from 1; `auto` finds it behind comment and title rows. */
    readonly headerRow: number | 'auto'
    /** Column names for a file without a header. */
    readonly columns?: readonly string[]
    /** A quote inside a cell that is not quoted is text; without it such a row is rejected. */
    readonly relaxedQuotes?: boolean
  }
  /** Path of the records inside one object: keys joined by dots, `data.products`. Detected where absent, if possible. */
  readonly json?: { readonly records: string }
  /** Deviations from a well-formed Google Shopping feed that are read; without it such a file is rejected. */
  readonly xml?: {
    /** Local name of the elements that are records, in XML of any kind. */
    readonly item?: string
    /** The named entities of HTML are characters. */
    readonly htmlEntities?: boolean
    /** A raw & in an address is `&amp;`. */
    readonly escapeAmpersands?: boolean
  }
  /** The pipeline has a `map:`: its author knows the names of the source's elements. */
  readonly mapped?: boolean
  /** Its rows become products, which an export of this preset (else the one its header is known by) may spread over several. */
  readonly products?: { readonly preset?: string }
  /** For `postgres:`. */
  readonly query?: string
  readonly parameters?: readonly (string | number | boolean | null)[]
  /** Names of environment variables (each also as `…_FILE`) that hold the credentials; never the values. */
  readonly credentials?: Readonly<Record<string, string>>
  /** Private addresses and plain http are refused unless this allows them. */
  readonly allowPrivate: boolean
  /** Pinned SFTP host key, `SHA256:…`. */
  readonly hostKey?: string
  readonly join?: SourceJoin
}

/** A file whose columns are added to each row of a source, by the values of one column of both. */
export interface SourceJoin {
  readonly source: SourceDefinition
  /** Columns with the values that are equal: of the source, and of the file. */
  readonly sourceColumn: string
  readonly fileColumn: string
  /** Columns of the file that are added; all others without it. They replace those of the source of the same name. */
  readonly columns?: readonly string[]
}

export type CompletenessProof =
  | { readonly kind: 'auto' }
  | { readonly kind: 'marker'; readonly path: string }
  | { readonly kind: 'manifest'; readonly path: string }
  | { readonly kind: 'trailer'; readonly pattern: string }
  | { readonly kind: 'rows'; readonly count: number }

/** A condition on one column. */
export interface RowFilter {
  readonly column: string
  /** Compared trimmed and ignoring case. */
  readonly values: readonly string[]
  /** True: rows with one of the values stay (`only`). False: they are left out (`except`). */
  readonly keep: boolean
}

export interface ValueTest {
  readonly column: string
  /** Compared trimmed and case-blind. */
  readonly values: readonly string[]
}

/** Test of one consent column: by its values, by what they must not be, or by a date. */
export interface ConsentTest {
  readonly column: string
  /** Values that mean yes, compared trimmed and case-blind; every other one is a no. */
  readonly values?: readonly string[]
  /** Values that mean no; every other one is a yes. */
  readonly notValues?: readonly string[]
  /** The cell is a date before this one (ISO 8601), or after it. */
  readonly before?: string
  readonly after?: string
  /** Decides over the identifiers of this kind only; without it, over the row. */
  readonly only?: 'email' | 'phone_number'
}

/** One target field: from one column or several in order, or a constant, then transforms. */
export interface FieldMapping {
  readonly columns: readonly string[]
  readonly constant?: string
  readonly default?: string
  /** Phones: a column with ISO country codes, or a fixed code. */
  readonly defaultCountry?: string
  /** The column holds SHA-256 digests: a raw value in it is rejected. */
  readonly hashed?: boolean
  readonly transforms: readonly Transform[]
  /** TypeScript pipelines only: the cells of the row by column name → text. */
  readonly compute?: (row: Readonly<Record<string, string | readonly string[] | undefined>>) => string | readonly string[] | undefined
}

/** A named transform with its arguments, checked by mapping/transforms.ts. */
export interface Transform {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

/** Settings of a destination with every default filled in. Each type declares its own (src/destinations/). */
export interface DestinationDefinition {
  /** Name of the type. */
  readonly kind: string
  readonly [setting: string]: unknown
}

/** One condition of a product set as the service takes it (spec 2.2). */
export interface SetFilter {
  readonly attribute: string
  readonly operator: string
  readonly value: string
}

/** A product set that the pipeline keeps: by filters of the service or, for a brand, by a list of products. */
export interface ProductSetRule {
  readonly name: string
  readonly description?: string
  readonly filters: readonly SetFilter[]
  /** The service filters by no brand: the products are listed one by one. */
  readonly brand?: string
}

/** Calendar months stay months (clamped to the month's end), everything else is milliseconds. */
export type Duration = { readonly months: number } | { readonly ms: number }

export interface Guards {
  readonly minRows: number
  readonly maxDeleteCount: number
  readonly maxDeletePercent: number
  readonly maxRejectPercent: number
  /** Notes of docs/rejects.md that withhold the run, besides those that do by themselves. */
  readonly hold?: readonly string[]
  /** Notes that their owner has looked at: they withhold nothing. */
  readonly accept?: readonly string[]
  /** Products going out of stock in one run, in percent of the synced ones; 10 where absent. */
  readonly maxOutOfStockPercent?: number
  /** A price that moves further is noted; 50 where absent. */
  readonly maxPriceChangePercent?: number
}

export interface MappingOptions {
  /** Currency of prices written without one. Undefined: such a price is a reject. */
  readonly defaultCurrency?: string
  readonly maxIdLength: number
  /** IANA zone of sale periods written without offset. Undefined: such a period is left out. */
  readonly timezone?: string
  /** Hosts that product links lead to; others are noted. Undefined: any. */
  readonly linkHosts?: readonly string[]
  /** Products whose image links a run checks by sample; none where absent. */
  readonly imageSample?: number
  /** Options of docs/inputs.md that an owner may switch on, by name (`cut_title`, `upgrade_http` …). */
  readonly allow: readonly string[]
  /** Inputs that are accepted by default and that this pipeline rejects, by name (`http_image`). */
  readonly refuse?: readonly string[]
  /** Words to the service's own words, by field (`availability: { "yes": "in stock" }`). */
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/**
 * Definition of a pipeline after its file was checked, with all defaults and with parsed values. The schema of the file is
 * pipeline/schema.ts.
 */

/** Checked pipeline: sources, mapping, destination and guards. */
export interface Pipeline {
  /** The file's name without its ending. With `markets:`, followed by `-` and the name of the market. */
  readonly name: string
  /** Path as given, for messages. */
  readonly file: string
  readonly schedule?: Schedule
  readonly sources: readonly SourceDefinition[]
  /** Name of the preset, such as `google-shopping`. Absent: recognized by the header; for people, only without `map:`. */
  readonly preset?: string
  readonly map: Readonly<Record<string, FieldMapping>>
  /** Tests for consent. A row must pass every test. `none`: no column decides who is sent, not even one of the preset. */
  readonly consent?: readonly ConsentTest[] | 'none'
  /** Columns that are declared irrelevant: they are not searched for consent and identifiers. */
  readonly ignore?: readonly string[]
  /** Test of a do-not-reach pipeline: the people of rows that pass are removed from the list. */
  readonly remove?: ValueTest
  readonly destination: DestinationDefinition
  readonly guards: Guards
  /** `only:` and `except:`, in this order; a row must pass all of them. */
  readonly filters: readonly RowFilter[]
  /**
   * Do-not-reach pipelines of the folder. The pipeline must not send the people on their lists. Absent: none, or the file was loaded alone.
   */
  readonly suppressedBy?: readonly SuppressingPipeline[]
  /** Name of a set of credentials in sluice.yaml. Absent: those of the environment. */
  readonly credentials?: string
  /** Names of receivers of alerts in sluice.yaml. Absent: its default receivers. */
  readonly alerts?: readonly string[]
  /** Number of consecutive runs with an unchanged source after which the alert `stale` fires. Absent: no such alert. */
  readonly staleAfterRuns?: number
  /** Keeps the last of several rows with one key and different content. Absent: all of them are rejected. */
  readonly duplicates?: 'last'
  readonly mapping: MappingOptions
  /** SHA-256 (hex) of the settings that decide what a row becomes: sources, mapping, consent, filters, type of destination … */
  readonly definitionHash: string
  /**
   * SHA-256 (hex) of all settings except `file`, `schedule`, `staleAfterRuns` and `suppressedBy`. A worker takes a queued run only if the
   * pipeline in its folder has the same version (docs/decisions/fence.md).
   */
  readonly version: string
}

/** Do-not-reach pipeline of the same account and credentials. */
export interface SuppressingPipeline {
  readonly name: string
  /** Id of its list. */
  readonly targetId: string
}

/** Times of scheduled runs. */
export interface Schedule {
  /** Cron, five or six fields. */
  readonly cron: string
  /** IANA zone. */
  readonly timezone: string
  /** Effect of a tick while a run is in progress: the tick is skipped, or one run waits. */
  readonly overlap: 'skip' | 'queue'
}

/** Source of rows: where its bytes are, and how they are read. */
export interface SourceDefinition {
  /** Path, `file:`, `http(s):`, `sftp:`, `s3:`, `postgres:` or `-`. Relative paths are relative to the working directory. */
  readonly uri: string
  readonly format: 'auto' | 'csv' | 'tsv' | 'json' | 'jsonl' | 'google-rss' | 'google-atom' | 'xlsx'
  readonly complete: CompletenessProof
  /** `auto` or an encoding label. */
  readonly encoding: string
  readonly compression: 'auto' | 'none' | 'gzip' | 'zip' | 'zstd'
  /** File to read in a zip archive. */
  readonly member?: string
  /** Sheet of a workbook. Absent: the first that is not hidden. */
  readonly sheet?: string
  readonly csv: {
    /** `auto`, or one character. */
    readonly delimiter: string
    /** One character. */
    readonly quote: string
    /** Line of the header, from 1. `auto` finds it below title rows. */
    readonly headerRow: number | 'auto'
    /** Column names for a file without a header. */
    readonly columns?: readonly string[]
    /** True: a quote inside an unquoted cell is text. Absent: such a row is rejected. */
    readonly relaxedQuotes?: boolean
  }
  /** `records`: path of the records inside one object, keys joined by dots (`data.products`). Absent: detected if possible. */
  readonly json?: { readonly records: string }
  /** Settings for XML. Any deviation from well-formed XML that no setting accepts rejects the file. */
  readonly xml?: {
    /** Local name of the elements that are records, for XML that is not a Google Shopping feed. */
    readonly item?: string
    /** True: named entities of HTML are read as their characters. */
    readonly htmlEntities?: boolean
    /** True: a raw & in an address is read as `&amp;`. */
    readonly escapeAmpersands?: boolean
  }
  /** True if the pipeline has a `map:`. Then a root `channel` without the product namespace is accepted (docs/inputs.md, case 145). */
  readonly mapped?: boolean
  /**
   * Present if rows become products. The exports of some presets spread a product over several rows. Without `preset`, the header decides
   * whether the source is such an export.
   */
  readonly products?: { readonly preset?: string }
  /** SQL of a `postgres:` source. */
  readonly query?: string
  /** Values for `$1`, `$2` … in `query`. */
  readonly parameters?: readonly (string | number | boolean | null)[]
  /** Environment variable (also as `…_FILE`) of each credential, by the credential's name (`password`); never the value itself. */
  readonly credentials?: Readonly<Record<string, string>>
  /** Allows private addresses, plain http and any port. */
  readonly allowPrivate: boolean
  /** Pinned SFTP host key, `SHA256:…`. */
  readonly hostKey?: string
  readonly join?: SourceJoin
}

/** File with columns that are added to the rows of a source, by id. */
export interface SourceJoin {
  readonly source: SourceDefinition
  /** Columns with the id: of the source, and of the file. */
  readonly sourceColumn: string
  readonly fileColumn: string
  /** Columns of the file that are added; absent for all but the id. An added column replaces a column of the source with the same name. */
  readonly columns?: readonly string[]
}

/** Setting `complete`: what proves that a source was read to its end. */
export type CompletenessProof =
  | { readonly kind: 'auto' }
  | { readonly kind: 'marker'; readonly path: string }
  | { readonly kind: 'manifest'; readonly path: string }
  | { readonly kind: 'trailer'; readonly pattern: string }
  | { readonly kind: 'rows'; readonly count: number }

/** Condition on one column. */
export interface RowFilter {
  readonly column: string
  /** Compared trimmed and ignoring case. */
  readonly values: readonly string[]
  /** True if rows with one of the values stay (`only`), false if they are left out (`except`). */
  readonly keep: boolean
}

/** Test that a cell is one of several values. */
export interface ValueTest {
  readonly column: string
  /** Compared trimmed and ignoring case. */
  readonly values: readonly string[]
}

/** Test of one consent column: by the values that mean yes, by those that mean no, or by a date. */
export interface ConsentTest {
  readonly column: string
  /** Values that mean yes, compared trimmed and ignoring case. Every other value means no. */
  readonly values?: readonly string[]
  /** Values that mean no. Every other value means yes. */
  readonly notValues?: readonly string[]
  /** A date before this date (ISO 8601) means yes. */
  readonly before?: string
  /** A date after this date (ISO 8601) means yes. With `before`, only a date between the two means yes. */
  readonly after?: string
  /** Type of the identifiers that the test decides about; absent if the test decides about the row. */
  readonly appliesTo?: 'email' | 'phone_number'
}

/** Mapping of one field: columns in order, or a constant, then transforms. */
export interface FieldMapping {
  readonly columns: readonly string[]
  readonly constant?: string
  readonly default?: string
  /** Phones: a column with ISO country codes, or a fixed code. */
  readonly defaultCountry?: string
  /** True if the column has SHA-256 digests. A raw value is rejected then. */
  readonly hashed?: boolean
  readonly transforms: readonly Transform[]
  /** Function of a TypeScript pipeline, called with the cells of the row by column name. */
  readonly compute?: (row: Readonly<Record<string, string | readonly string[] | undefined>>) => string | readonly string[] | undefined
}

/** Transform with its arguments, checked by mapping/transforms.ts. */
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

/** Product set that the pipeline keeps: by filters of the service or, for a brand, by a list of products. */
export interface ProductSetRule {
  readonly name: string
  readonly description?: string
  readonly filters: readonly SetFilter[]
  /** Brand of the products. The service has no filter for brands, so the set lists its products. */
  readonly brand?: string
}

/** Duration in calendar months (one month after 31 January is 28 or 29 February), or in milliseconds. */
export type Duration = { readonly months: number } | { readonly ms: number }

/** Limits that withhold deletes or stop a run (docs/architecture.md#deletes-need-proof). */
export interface Guards {
  /** Minimum number of valid rows. Fewer withhold all deletes. */
  readonly minRows: number
  /** Maximum number of deletes. They are withheld if they are over this limit and over `maxDeletePercent`. */
  readonly maxDeleteCount: number
  /** Maximum deletes in percent of the confirmed products or users. */
  readonly maxDeletePercent: number
  /** Maximum rejected rows in percent of the rows read. More stop the run. */
  readonly maxRejectPercent: number
  /** Codes of notes (docs/rejects.md) that stop the run, beside those that do so by default. */
  readonly hold?: readonly string[]
  /** Codes of notes that do not stop the run. */
  readonly accept?: readonly string[]
  /** Maximum percent of the products of the last sync that may go out of stock in one run. Absent: 10. */
  readonly maxOutOfStockPercent?: number
  /** Maximum change of a price in percent. Larger changes get a note. Absent: 50. */
  readonly maxPriceChangePercent?: number
}

/** Options of the mapping: settings below `options` of the file. */
export interface MappingOptions {
  /** Currency of prices without one. Absent: such a price is rejected. */
  readonly defaultCurrency?: string
  readonly maxIdLength: number
  /** IANA zone of sale periods without an offset. Absent: such a period is left out. */
  readonly timezone?: string
  /** Hosts that product links may lead to. Links to other hosts get a note. Absent: any host. */
  readonly linkHosts?: readonly string[]
  /** Number of image links that a run checks. Absent: none. */
  readonly imageSample?: number
  /** Names of exceptions from the default handling of inputs (docs/inputs.md): `cut_title`, `upgrade_http` … */
  readonly allow: readonly string[]
  /** Names of inputs that are accepted by default and that this pipeline rejects: `http_image`. */
  readonly refuse?: readonly string[]
  /** By field: words of the source with the words of the service for them (`availability: { "yes": "in stock" }`). */
  readonly values: Readonly<Record<string, Readonly<Record<string, string>> | undefined>>
}

/**
 * Checks each source as a whole (docs/inputs.md). Rejects a file if a spreadsheet damaged too many rows, or if emails and phone
 * numbers are in each other's columns. Reports other findings as warnings, which may stop the run.
 */
import { RunError } from '../../errors.ts'
import type { QualityFigures, SourceFacts } from '../../formats/rows.ts'
import { createPersonalColumns, type PersonalNumbers } from '../../mapping/personalColumns.ts'
import { createSourceStatistics } from '../../mapping/statistics/sourceStatistics.ts'
import { createReadStatistics, type ReadStatistics } from '../../mapping/statistics/readStatistics.ts'
import type { RecordMapper } from '../../mapping/mapper.ts'
import type { Mapped, Row } from '../../model/record.ts'
import { feature, type FeatureSetCounts } from '../../mapping/statistics/rowStatistics.ts'
import type { UnmappedReport } from '../../mapping/members/unmappedColumns.ts'
import type { WarningSummary } from '../../model/report.ts'

/** Result of checking a source. */
export interface SourceResult {
  /** Warnings of the run; some codes stop it (sync/plan/qualityGuard.ts). */
  readonly warnings: readonly WarningSummary[]
  /** Warnings counted row by row, by code and field. */
  readonly counted: readonly WarningSummary[]
  /** Figures with which the next read is compared. */
  readonly figures: QualityFigures
  /** Codes of notes that cannot be decided without reading the unchanged rows too. */
  readonly doubts: readonly string[]
}

/** Checks the rows of one source. */
export interface SourceQuality {
  /** Adds a mapped row. Returns the number of its feature set (mapping/statistics/rowStatistics.ts). */
  readonly add: (row: Row, mapped: Mapped) => number
  /**
   * Finishes the source. `previous`: facts of the last read, with which columns and fill rates are compared. `known`: counts of unchanged
   * rows, which were not mapped, by feature set. `lastGood`: facts of the last read in whose plan no guard fired, with which the opt-outs
   * are compared.
   *
   * @throws {RunError} `FILE_SPREADSHEET_DAMAGE`, `FILE_MAPPING`
   */
  readonly finish: (facts: SourceFacts, previous: SourceFacts | undefined, known?: FeatureSetCounts, lastGood?: SourceFacts) => SourceResult
}

/** Mapper that also checks its rows. Sources are mapped one after the other. */
export interface WatchedMapper extends RecordMapper {
  /** Begins a source. `previous`: facts of the last read for a gated read; undefined for a full read. */
  readonly begin: (previous: SourceFacts | undefined) => void
  /** Returns the number of the feature set of the last mapped row that was not filtered out. */
  readonly featureSet: () => number
  /** Ends a source. */
  readonly finish: SourceQuality['finish']
}

/** Returns a mapper that maps like `mapper` and checks the rows of each source. `reachesPeople`: also compares how many rows opt out. */
export function watchMapper(
  mapper: RecordMapper,
  statistics: ReadStatistics = createReadStatistics(),
  options: { readonly reachesPeople?: boolean } = {},
): WatchedMapper {
  let quality = createSourceQuality(statistics, undefined, options)
  let featureSet = 0
  return {
    ...mapper,
    begin: (previous) => {
      quality = createSourceQuality(statistics, previous, options)
    },
    map: (row) => {
      const mapped = mapper.map(row)
      if (mapped.filtered) return mapped
      featureSet = quality.add(row, mapped)
      return mapped
    },
    featureSet: () => featureSet,
    finish: (...given) => quality.finish(...given),
  }
}

/**
 * Returns a note on each column of emails or phone numbers that no setting uses. The hint is a `map:` that uses these columns too. The
 * counts are of all rows that the mapper has mapped, earlier sources included.
 */
export function identifierNotes({ identifiers, identifierHint: hint }: UnmappedReport): readonly WarningSummary[] {
  return identifiers.map(({ column, message, count, lines }) => ({
    code: 'IDENTIFIER_UNMAPPED',
    field: column,
    message,
    count,
    lines,
    ...(hint === undefined ? {} : { hint }),
  }))
}

const consentCodes: readonly string[] = ['CONSENT_UNMAPPED', 'LEFT_UNMAPPED', 'CONSENT_UNKNOWN']

/**
 * Completes a note about consent: adds a hint, in most cases the `consent:` setting for this file. For an unmapped column, also adds its
 * values to the message. Returns other notes unchanged.
 */
export function withConsentHint<Note extends Pick<WarningSummary, 'code' | 'field' | 'message'>>(
  note: Note,
  unmapped: UnmappedReport,
): Note {
  if (!consentCodes.includes(note.code)) return note
  if (note.code === 'CONSENT_UNKNOWN' && note.field === 'remove')
    return {
      ...note,
      hint: 'guards: { accept: [CONSENT_UNKNOWN] }, if every person of the file belongs on the list; else export the file with that column',
    }
  if (note.code === 'CONSENT_UNKNOWN' && note.field !== 'consent')
    return {
      ...note,
      hint: 'guards: { accept: [CONSENT_UNKNOWN] }, if the export omits this column for people who agreed; else correct consent',
    }
  const seen = note.code === 'CONSENT_UNKNOWN' ? '' : unmapped.shownValues(note.field)
  const hint =
    unmapped.consentHint ??
    (note.code === 'CONSENT_UNKNOWN'
      ? 'export the file again with that column, or set consent: none if every person in it agreed'
      : undefined)
  return {
    ...note,
    ...(seen === '' ? {} : { message: `${note.message}: ${seen}` }),
    ...(hint === undefined ? {} : { hint }),
  }
}

/** Minimum number of rows for checks of shares (docs/inputs.md). */
const checkedFrom = 100
/** Share of rows damaged by a spreadsheet above which the file is rejected. */
const damagedShare = 0.005
/** Share of rows with an email in a phone column, or the reverse, above which the file is rejected. */
const misplacedShare = 0.05
/** Share of rows with a role or example address above which a warning is reported. */
const roleShare = 0.01
/** Percentage points by which a fill rate may fall without a warning. */
const fillFall = 20
/** Code of the note on columns with personal numbers. It is reported once per column, as a note on the source. */
const personalCode = 'PERSONAL_COLUMN'
/** Codes that count once per column, for any number of rows. */
const oncePerColumn: readonly string[] = ['LEFT_UNMAPPED', 'CONSENT_UNMAPPED']

/** Starts the checks of a source. `previous`: facts of the last read for a gated read. */
function createSourceQuality(
  statistics: ReadStatistics,
  previous: SourceFacts | undefined,
  { reachesPeople = false }: { readonly reachesPeople?: boolean },
): SourceQuality {
  const quality = createSourceStatistics(statistics, previous?.quality)
  const personal = createPersonalColumns()
  const itemOf = ([column, what]: readonly [column: string, what: PersonalNumbers]) =>
    statistics.featureSets.item(personalCode, column, `the column "${column}" contains what looks like ${what}`)
  let optedOut = 0
  const damaged = new LineCount()
  const misplaced = new LineCount()
  return {
    add: (row, mapped) => {
      const { reject, record, warnings } = mapped
      if (record?.kind === 'member' && !record.desired) optedOut += 1
      if (reject?.code === 'SPREADSHEET_DAMAGE') damaged.add(reject.line)
      else if (reject?.isMisplaced === true) misplaced.add(reject.line)
      const dropped = warnings.some(({ isMisplaced }) => isMisplaced === true)
      const numbers = personal.find(row)
      const items = numbers.length === 0 ? undefined : numbers.map(itemOf).filter((item) => item >= 0)
      return quality.add(mapped, items, dropped ? feature.misplaced : 0)
    },
    finish: (facts, previous, known, lastGood) => {
      const found = quality.finish(known)
      const { rows: total, members, filled, notes, items } = found
      if (total >= checkedFrom && damaged.count > total * damagedShare) {
        throw new RunError(
          'FILE_SPREADSHEET_DAMAGE',
          `${damaged.count} of ${total} rows were changed by a spreadsheet (exponents, #N/A, dates made of numbers)`,
          {
            where: `${facts.uri}, first on line ${damaged.first}`,
            hint: 'Export again with every column formatted as text.',
          },
        )
      }
      const moved = misplaced.count + found.misplaced.count
      if (total >= checkedFrom && moved > total * misplacedShare) {
        throw new RunError('FILE_MAPPING', `${moved} of ${total} rows have an email where a phone number is mapped, or the reverse`, {
          where: `${facts.uri}, first on line ${Math.min(misplaced.first || Infinity, found.misplaced.lines[0] ?? Infinity)}`,
          hint: 'Correct the columns under map:.',
        })
      }
      const warnings: WarningSummary[] = []
      const report = (code: string, field: string, message: string, count: number, lines: readonly number[] = []) =>
        warnings.push({ code, field, message, count, lines })
      for (const { code, message, count, examples } of notes) {
        report(code, '', examples.length === 0 ? message : `${message}: ${examples.join(', ')}`, count)
      }
      for (const { code, field, message } of items) if (code === personalCode) report(code, field, message, 1)
      const roles = items.filter(({ code }) => code === 'EMAIL_ROLE')
      const withRole = roles.reduce((sum, { count }) => sum + count, 0)
      if (total >= checkedFrom && withRole > total * roleShare)
        report('EMAIL_ROLE_SHARE', 'email', `${withRole} of ${total} rows have a role or example address`, withRole, [
          Math.min(...roles.map(({ lines }) => lines[0] ?? Infinity)),
        ])
      for (const column of vanishedColumns(facts, previous))
        report('COLUMN_VANISHED', column, `the column "${column}" is missing, the last read had it`, 1)
      const figures = {
        members,
        filled,
        ...(optedOut === 0 ? {} : { optedOut }),
        ...(found.brand === '' ? {} : { brand: found.brand }),
        ...(found.group === '' ? {} : { group: found.group }),
      }
      for (const [kind, before, now] of fallenFillRates(previous?.quality, figures))
        report('FILL_RATE_FELL', kind, `${now} % of the members have ${kind}, last time ${before} %`, 1)
      const sentAgain = reachesPeople ? fallenOptOuts(lastGood?.quality, figures) : 0
      if (sentAgain > 0)
        report(
          'OPT_OUTS_FELL',
          'consent',
          `${optedOut} rows opt out, last time ${lastGood?.quality?.optedOut ?? 0}, and ${sentAgain} more people would be sent`,
          sentAgain,
        )
      const counted = items.flatMap((item) =>
        item.code === personalCode
          ? []
          : oncePerColumn.includes(item.code)
            ? [{ ...item, count: 1, lines: item.lines.slice(0, 1) }]
            : [item],
      )
      return { warnings, counted, figures, doubts: found.doubts }
    },
  }
}

/** Minimum number of rows that opted out in the earlier read, to compare their number. */
const optOutsFrom = 20

/**
 * Returns by how much the number of members who do not opt out rose, if opt-outs fell by more than half and this rise is at least half of
 * their fall; otherwise 0. A smaller rise means that most of the rows that opted out are missing now. `before`: figures of the last read in
 * whose plan no guard fired. Rows that opt out are mapped in every read, because they have no stored digest.
 */
function fallenOptOuts(before: QualityFigures | undefined, now: QualityFigures): number {
  const [was, is] = [before?.optedOut ?? 0, now.optedOut ?? 0]
  if (before === undefined || was < optOutsFrom || is * 2 >= was) return 0
  const added = now.members - is - (before.members - was)
  return added * 2 >= was - is ? added : 0
}

/** Returns at most 20 columns that only the last read had; none for XML and JSON, whose items omit empty fields. */
function vanishedColumns(facts: SourceFacts, previous: SourceFacts | undefined): string[] {
  if (previous === undefined || !['csv', 'tsv', 'xlsx', 'sql'].includes(facts.format)) return []
  return previous.columns.filter((column) => !facts.columns.includes(column)).slice(0, 20)
}

/**
 * Returns the identifier types whose fill rate fell by more than `fillFall` percentage points, with the percentages before and now. Empty
 * if one of the reads had fewer than `checkedFrom` members.
 */
function fallenFillRates(before: QualityFigures | undefined, now: QualityFigures): [kind: string, before: number, now: number][] {
  if (before === undefined || before.members < checkedFrom || now.members < checkedFrom) return []
  return Object.entries(before.filled).flatMap(([kind, count]): [string, number, number][] => {
    const was = Math.round((count / before.members) * 100)
    const is = Math.round(((now.filled[kind] ?? 0) / now.members) * 100)
    return was - is > fillFall ? [[kind, was, is]] : []
  })
}

/** Number of rows, and the line of the first row; 0 if there is none. */
class LineCount {
  count = 0
  first = 0
  add(line: number): void {
    if (this.count === 0) this.first = line
    this.count += 1
  }
}

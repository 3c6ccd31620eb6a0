/**
 * Checks each source as a whole (docs/inputs.md). Rejects a file if a spreadsheet damaged too many rows, or if emails and phone
 * numbers are in each other's columns. Reports other findings as warnings, which may stop the run.
 */
import { RunError } from '../../errors.ts'
import type { QualityFigures, SourceFacts } from '../../formats/rows.ts'
import { createAccountNumberSearch, type AccountNumberKind } from '../../mapping/accountNumbers.ts'
import { noteOf } from '../../mapping/statistics/qualityCodes.ts'
import { createSourceStatistics } from '../../mapping/statistics/sourceStatistics.ts'
import { createReadStatistics, type ReadStatistics } from '../../mapping/statistics/readStatistics.ts'
import type { RecordMapper } from '../../mapping/mapper.ts'
import type { Mapped, SourceRow } from '../../model/record.ts'
import { featureBits, type FeatureSetCounts } from '../../mapping/statistics/featureSets.ts'
import type { WarningSummary } from '../../model/report.ts'

export interface SourceResult {
  /** Warnings on the source as a whole. */
  readonly warnings: readonly WarningSummary[]
  /** Warnings counted row by row, by code and field. */
  readonly rowWarnings: readonly WarningSummary[]
  /** Figures with which the next read is compared. */
  readonly figures: QualityFigures
  /** True if the skipped rows may decide a check. Then all rows are read again. */
  readonly needsFullRead: boolean
}

/** Figures with which the source is compared, and counts of its skipped rows. */
interface FinishOptions {
  /** Facts of the last read. Columns and fill rates are compared with it. */
  readonly previous?: SourceFacts | undefined
  /** Facts of the reference read (`LastSnapshot.referenceValid`). The opt-outs are compared with it. */
  readonly reference?: SourceFacts | undefined
  /**
   * Counts of the rows that this read skipped as unchanged, by feature set. A feature set is the warnings, currency and similar facts of a
   * row (`mapping/statistics/featureSets.ts`). Undefined for a full read.
   */
  readonly skippedCounts?: FeatureSetCounts | undefined
}

/** Mapper that also checks its rows. Sources are mapped one after the other. */
export interface CheckingMapper extends RecordMapper {
  /** Begins a source. `previous`: facts of the last read for a gated read; undefined for a full read. */
  readonly begin: (previous: SourceFacts | undefined) => void
  /** Returns the number of the feature set of the last mapped row that was not filtered out. */
  readonly featureSet: () => number
  /**
   * Finishes a source. `facts`: its facts now.
   *
   * @throws {RunError} `FILE_SPREADSHEET_DAMAGE`, `FILE_MAPPING`
   */
  readonly finish: (facts: SourceFacts, options?: FinishOptions) => SourceResult
}

/** Returns a mapper that maps like `mapper` and checks the rows of each source. `reachesPeople`: also compares how many rows opt out. */
export function createCheckingMapper(
  mapper: RecordMapper,
  statistics: ReadStatistics = createReadStatistics(),
  options: { readonly reachesPeople?: boolean } = {},
): CheckingMapper {
  let checks = createSourceChecks(statistics, undefined, options)
  let featureSet = 0
  return {
    ...mapper,
    begin: (previous) => {
      checks = createSourceChecks(statistics, previous, options)
    },
    map: (row) => {
      const mapped = mapper.map(row)
      if (mapped.filtered) return mapped
      featureSet = checks.add(row, mapped)
      return mapped
    },
    featureSet: () => featureSet,
    finish: (...given) => checks.finish(...given),
  }
}

/** Minimum number of rows or members for checks of shares (docs/inputs.md). */
const minForShares = 100
/** Share of rows damaged by a spreadsheet above which the file is rejected. */
const maxDamagedShare = 0.005
/** Share of rows with an email in a phone column, or the reverse, above which the file is rejected. */
const maxMisplacedShare = 0.05
/** Share of rows with a role or example address above which a warning is reported. */
const maxRoleShare = 0.01
/** Percentage points by which a fill rate may fall without a warning. */
const maxFillFall = 20
/** Code of the note on a column with card or bank account numbers. */
const personalCode = 'PERSONAL_COLUMN'
/** Codes of warnings that count once per column, for any number of rows. */
const oncePerColumn: readonly string[] = ['LEFT_UNMAPPED', 'CONSENT_UNMAPPED']

/**
 * Starts the checks of a source. `previous`: facts of the last read for a gated read; undefined for a full read. `add` counts a mapped row,
 * and returns the number of its feature set (mapping/statistics/featureSets.ts).
 */
function createSourceChecks(
  statistics: ReadStatistics,
  previous: SourceFacts | undefined,
  { reachesPeople = false }: { readonly reachesPeople?: boolean },
): Pick<CheckingMapper, 'finish'> & { readonly add: (row: SourceRow, mapped: Mapped) => number } {
  const sourceStatistics = createSourceStatistics(statistics, previous?.quality)
  const accountNumbers = createAccountNumberSearch()
  const itemOf = ([column, numbers]: readonly [column: string, numbers: AccountNumberKind]) =>
    statistics.featureSets.addItem(personalCode, column, `the column "${column}" contains what looks like ${numbers}`)
  let optedOut = 0
  let withoutKey = 0
  const damaged = new RowCounter()
  const misplaced = new RowCounter()
  return {
    add: (row, mapped) => {
      const { reject, record, warnings } = mapped
      if (record?.kind === 'member' && !record.desired) optedOut += 1
      // A gated read maps all rejected rows too, because they have no digest.
      if (reject !== undefined && reject.key === undefined) withoutKey += 1
      if (reject?.code === 'SPREADSHEET_DAMAGE') damaged.add(reject.line)
      else if (reject?.isMisplaced === true) misplaced.add(reject.line)
      const hasMisplaced = warnings.some(({ isMisplaced }) => isMisplaced === true)
      const numbers = accountNumbers.find(row)
      // `addItem` returns -1 if there are too many different items.
      const items = numbers.length === 0 ? undefined : numbers.map(itemOf).filter((item) => item >= 0)
      return sourceStatistics.add(mapped, items, hasMisplaced ? featureBits.misplaced : 0)
    },
    finish: (facts, { previous, reference, skippedCounts } = {}) => {
      const found = sourceStatistics.finish(skippedCounts)
      const { rows, members, rowsByIdentifierType, items } = found
      if (rows >= minForShares) {
        rejectDamaged(facts, rows, damaged)
        rejectMisplaced(facts, rows, {
          count: misplaced.count + found.misplaced.count,
          lines: [misplaced.firstLine, ...found.misplaced.lines],
        })
      }
      const figures = {
        members,
        filled: rowsByIdentifierType,
        ...(optedOut === 0 ? {} : { optedOut }),
        withoutKey,
        ...(found.firstBrandField === '' ? {} : { brand: found.firstBrandField }),
        ...(found.firstGroup === '' ? {} : { group: found.firstGroup }),
      }
      const warnings = [
        ...found.notes.map(({ code, message, count, examples }) =>
          noteOf(code, examples.length === 0 ? message : `${message}: ${examples.join(', ')}`, { count }),
        ),
        ...items.flatMap(({ code, field, message }) => (code === personalCode ? [noteOf(code, message, { field })] : [])),
        ...(rows >= minForShares ? roleShareNotes(items, rows) : []),
        ...vanishedColumns(facts, previous).map((column) =>
          noteOf('COLUMN_VANISHED', `the column "${column}" is missing, the last read had it`, { field: column }),
        ),
        ...fallenFillRates(previous?.quality, figures).map(([type, before, now]) =>
          noteOf('FILL_RATE_FELL', `${now} % of the members have ${type}, last time ${before} %`, { field: type }),
        ),
        ...(reachesPeople ? optOutsFellNotes(reference?.quality, figures) : []),
      ]
      const rowWarnings = items
        .filter(({ code }) => code !== personalCode)
        .map((item) => (oncePerColumn.includes(item.code) ? { ...item, count: 1, lines: item.lines.slice(0, 1) } : item))
      return { warnings, rowWarnings, figures, needsFullRead: found.needsFullRead }
    },
  }
}

function rejectDamaged({ uri }: SourceFacts, rows: number, { count, firstLine }: RowCounter): void {
  if (count <= rows * maxDamagedShare) return
  throw new RunError(
    'FILE_SPREADSHEET_DAMAGE',
    `${count} of ${rows} rows were changed by a spreadsheet (exponents, #N/A, dates made of numbers)`,
    { where: `${uri}, first on line ${firstLine}`, hint: 'Export again with every column formatted as text.' },
  )
}

/** Throws `FILE_MAPPING` if too many rows have an identifier in the column of another type. `lines`: some of their lines; 0 is no line. */
function rejectMisplaced({ uri }: SourceFacts, rows: number, { count, lines }: { count: number; lines: readonly number[] }): void {
  if (count <= rows * maxMisplacedShare) return
  throw new RunError('FILE_MAPPING', `${count} of ${rows} rows have an email where a phone number is mapped, or the reverse`, {
    where: `${uri}, first on line ${Math.min(...lines.filter((line) => line > 0))}`,
    hint: 'Correct the columns under map:.',
  })
}

/** Returns the note on a large share of role and example addresses; none for a small share. */
function roleShareNotes(items: readonly WarningSummary[], rows: number): WarningSummary[] {
  const roles = items.filter(({ code }) => code === 'EMAIL_ROLE')
  const count = roles.reduce((sum, role) => sum + role.count, 0)
  if (count <= rows * maxRoleShare) return []
  const firstLine = Math.min(...roles.map(({ lines }) => lines[0] ?? Infinity))
  const message = `${count} of ${rows} rows have a role or example address`
  return [noteOf('EMAIL_ROLE_SHARE', message, { field: 'email', count, lines: [firstLine] })]
}

/** Minimum number of rows that opted out in the earlier read, to compare their number. */
const minComparedOptOuts = 20

/**
 * Returns the note on fallen opt-outs if both conditions are met, else none:
 *
 * - The opt-outs fell by more than half, from at least `minComparedOptOuts`.
 * - The members who do not opt out rose by at least half as much. A smaller rise means that most of the rows that opted out are missing now.
 *
 * `before`: figures of the reference read. `now` has all opt-outs, because even a gated read skips none of them.
 */
function optOutsFellNotes(before: QualityFigures | undefined, now: QualityFigures): WarningSummary[] {
  const optedOutBefore = before?.optedOut ?? 0
  const optedOutNow = now.optedOut ?? 0
  if (before === undefined || optedOutBefore < minComparedOptOuts || optedOutNow * 2 >= optedOutBefore) return []
  const addedMembers = now.members - optedOutNow - (before.members - optedOutBefore)
  if (addedMembers * 2 < optedOutBefore - optedOutNow) return []
  const message = `${optedOutNow} rows opt out, last time ${optedOutBefore}, and ${addedMembers} more people would be sent`
  return [noteOf('OPT_OUTS_FELL', message, { field: 'consent', count: addedMembers })]
}

/** Returns at most 20 columns that the last read had and this one has not. Returns none for XML and JSON, whose items omit empty fields. */
function vanishedColumns(facts: SourceFacts, previous: SourceFacts | undefined): string[] {
  if (previous === undefined || !['csv', 'tsv', 'xlsx', 'sql'].includes(facts.format)) return []
  return previous.columns.filter((column) => !facts.columns.includes(column)).slice(0, 20)
}

/**
 * Returns the identifier types whose fill rate fell by more than `maxFillFall` percentage points, with the percentages before and now.
 * Empty if one of the reads had fewer than `minForShares` members.
 */
function fallenFillRates(before: QualityFigures | undefined, now: QualityFigures): [type: string, before: number, now: number][] {
  if (before === undefined || before.members < minForShares || now.members < minForShares) return []
  return Object.entries(before.filled).flatMap(([type, count]): [string, number, number][] => {
    const percentBefore = Math.round((count / before.members) * 100)
    const percentNow = Math.round(((now.filled[type] ?? 0) / now.members) * 100)
    return percentBefore - percentNow > maxFillFall ? [[type, percentBefore, percentNow]] : []
  })
}

/** Counter of rows that keeps the line of the first; 0 if there is none. */
class RowCounter {
  count = 0
  firstLine = 0
  add(line: number): void {
    if (this.count === 0) this.firstLine = line
    this.count += 1
  }
}

/**
 * What is judged on a whole source rather than on a row (bad-inputs, rules): too many rows of one fault refuse the file,
 * oddities a merchandiser should look at withhold the run or are told. Bounded memory; one instance a source.
 */
import { RunError } from '../../errors.ts'
import type { QualityFigures, SourceFacts } from '../../formats/rows.ts'
import { looksLikeEmail, looksLikePhone } from '../../records/identifiers/misplaced.ts'
import { createPersonalColumns } from '../../records/personalColumns.ts'
import { createQuality } from '../../records/quality.ts'
import { openBooks, type QualityBooks } from '../../records/qualityBooks.ts'
import type { Mapped, RecordMapper, Row } from '../../records/record.ts'
import { feature, type TraitCounts } from '../../records/rowTraits.ts'
import type { WarningSummary } from '../report.ts'

export interface SourceVerdict {
  /** Told with the run; their codes may withhold it (sync/plan/qualityGuard.ts). */
  readonly warnings: readonly WarningSummary[]
  /** What was warned of row by row, by code and field. */
  readonly counted: readonly WarningSummary[]
  readonly figures: QualityFigures
  /** Codes of notes that rows which were not looked at may ask for: only a whole reading can tell. */
  readonly doubts: readonly string[]
}

export interface SourceQuality {
  /** Returns the number of the row's set of traits (records/rowTraits.ts). */
  readonly add: (row: Row, mapped: Mapped) => number
  /**
   * `known`: rows that were known by their bytes and not mapped, by the sets that they had when they were.
   *
   * @throws RunError FILE_SPREADSHEET_DAMAGE, FILE_MAPPING
   */
  readonly finish: (facts: SourceFacts, previous: SourceFacts | undefined, known?: TraitCounts) => SourceVerdict
}

/** A mapper whose rows are looked at on their way, one source after the other. */
export interface WatchedMapper extends RecordMapper {
  /** Begins a source. `previous`: what the known rows of it were measured by. */
  readonly begin: (previous: SourceFacts | undefined) => void
  /** The set of traits of the row that was mapped last. */
  readonly traits: () => number
  /** Ends a source. */
  readonly finish: SourceQuality['finish']
}

export function watchMapper(mapper: RecordMapper, books: QualityBooks = openBooks()): WatchedMapper {
  let quality = createSourceQuality(books, undefined)
  let traits = 0
  return {
    ...mapper,
    begin: (previous) => {
      quality = createSourceQuality(books, previous)
    },
    map: (row) => {
      const mapped = mapper.map(row)
      traits = quality.add(row, mapped)
      return mapped
    },
    traits: () => traits,
    finish: (...given) => quality.finish(...given),
  }
}

// Shares are judged in files of 100 rows or more (bad-inputs, rules).
const judgedFrom = 100
const damagedShare = 0.005
const misplacedShare = 0.05
const roleShare = 0.01
/** Percentage points by which a fill rate may fall unremarked. */
const fillFall = 20
/** Told once a column, however many of the rows that were looked at say so. */
const personalCode = 'PERSONAL_COLUMN'
const leftCode = 'LEFT_UNMAPPED'

function createSourceQuality(books: QualityBooks, previous: SourceFacts | undefined): SourceQuality {
  const quality = createQuality(books, previous?.quality?.brand)
  const personal = createPersonalColumns()
  const damaged = new Places()
  const misplaced = new Places()
  return {
    add: (row, mapped) => {
      const { reject, warnings } = mapped
      if (reject?.code === 'SPREADSHEET_DAMAGE') damaged.add(reject.line)
      else if (reject !== undefined && tellsMisplaced(reject.message)) misplaced.add(reject.line)
      const dropped = warnings.some(({ code, message }) => code === 'IDENTIFIER_DROPPED' && tellsMisplaced(message))
      const items = personal
        .look(row)
        .map(([column, what]) => books.traits.item(personalCode, column, `the column "${column}" holds what looks like ${what}`))
        .filter((item) => item >= 0)
      return quality.add(mapped, items, dropped ? feature.misplaced : 0)
    },
    finish: (facts, previous, known) => {
      const found = quality.finish(known)
      const { rows: total, members, filled, notes, items } = found
      if (total >= judgedFrom && damaged.count > total * damagedShare) {
        throw new RunError(
          'FILE_SPREADSHEET_DAMAGE',
          `${damaged.count} of ${total} rows were changed by a spreadsheet (exponents, #N/A, dates made of numbers)`,
          {
            where: `${facts.uri}, first on line ${damaged.first}`,
            mend: 'Export again with every column formatted as text.',
          },
        )
      }
      const moved = misplaced.count + found.misplaced.count
      if (total >= judgedFrom && moved > total * misplacedShare) {
        throw new RunError('FILE_MAPPING', `${moved} of ${total} rows have an email where a phone number is mapped, or the reverse`, {
          where: `${facts.uri}, first on line ${Math.min(misplaced.first || Infinity, found.misplaced.lines[0] ?? Infinity)}`,
          mend: 'Correct the columns under map:.',
        })
      }
      const warnings: WarningSummary[] = []
      const tell = (code: string, field: string, message: string, count: number, lines: readonly number[] = []) =>
        warnings.push({ code, field, message, count, lines })
      for (const { code, message, count, examples } of notes) {
        if (code === 'FILL_RATE' || code === 'OUT_OF_STOCK_SHARE') continue
        tell(code, '', examples.length === 0 ? message : `${message}: ${examples.join(', ')}`, count)
      }
      for (const { code, field, message } of items) if (code === personalCode) tell(code, field, message, 1)
      const roles = items.filter(({ code }) => code === 'EMAIL_ROLE')
      const withRole = roles.reduce((sum, { count }) => sum + count, 0)
      if (total >= judgedFrom && withRole > total * roleShare)
        tell('EMAIL_ROLE_SHARE', 'email', `${withRole} of ${total} rows have an address of a role or an example`, withRole, [
          Math.min(...roles.map(({ lines }) => lines[0] ?? Infinity)),
        ])
      for (const column of vanished(facts, previous)) tell('COLUMN_VANISHED', column, `the column "${column}" was there last time`, 1)
      const figures = { members, filled, ...(found.brand === '' ? {} : { brand: found.brand }) }
      for (const [kind, before, now] of fallen(previous?.quality, figures))
        tell('FILL_RATE_FELL', kind, `${now} % of the members have ${kind}, last time ${before} %`, 1)
      const counted = items.flatMap((item) =>
        item.code === personalCode ? [] : item.code === leftCode ? [{ ...item, count: 1, lines: item.lines.slice(0, 1) }] : [item],
      )
      return { warnings, counted, figures, doubts: found.doubts }
    },
  }
}

function tellsMisplaced(message: string): boolean {
  return message.includes(looksLikeEmail) || message.includes(looksLikePhone)
}

/** Tables only: items of XML and JSON leave out what is empty. */
function vanished(facts: SourceFacts, previous: SourceFacts | undefined): string[] {
  if (previous === undefined || !['csv', 'tsv', 'xlsx', 'sql'].includes(facts.format)) return []
  return previous.columns.filter((column) => !facts.columns.includes(column)).slice(0, 20)
}

function fallen(before: QualityFigures | undefined, now: QualityFigures): [kind: string, before: number, now: number][] {
  if (before === undefined || before.members < judgedFrom || now.members < judgedFrom) return []
  return Object.entries(before.filled).flatMap(([kind, count]): [string, number, number][] => {
    const was = Math.round((count / before.members) * 100)
    const is = Math.round(((now.filled[kind] ?? 0) / now.members) * 100)
    return was - is > fillFall ? [[kind, was, is]] : []
  })
}

class Places {
  count = 0
  first = 0
  add(line: number): void {
    if (this.count === 0) this.first = line
    this.count += 1
  }
}

/**
 * What is judged on a whole source rather than on a row (bad-inputs, rules): too many rows of one fault refuse the file,
 * oddities a merchandiser should look at withhold the run or are told. Bounded memory; one instance a source.
 */
import { RunError } from '../../errors.ts'
import type { QualityFigures, SourceFacts } from '../../formats/rows.ts'
import { looksLikeEmail, looksLikePhone } from '../../records/mapMember.ts'
import { createPersonalColumns } from '../../records/personalColumns.ts'
import { createQuality } from '../../records/quality.ts'
import type { Mapped, RecordMapper, Row } from '../../records/record.ts'
import type { WarningSummary } from '../report.ts'

export interface SourceVerdict {
  /** Told with the run; their codes may withhold it (sync/plan/qualityGuard.ts). */
  readonly warnings: readonly WarningSummary[]
  readonly figures: QualityFigures
  /** Codes of refusals and notes that rows which were skipped may ask for, together with these: only a whole reading can tell. */
  readonly doubts: readonly string[]
}

export interface SourceQuality {
  readonly row: (row: Row) => void
  readonly add: (mapped: Mapped) => void
  /**
   * `skipped` rows were known by their bytes and not mapped: of them the figures of the last reading speak, and nothing is
   * said of all rows.
   *
   * @throws RunError FILE_SPREADSHEET_DAMAGE, FILE_MAPPING
   */
  readonly finish: (facts: SourceFacts, previous: SourceFacts | undefined, skipped: number) => SourceVerdict
}

/** A mapper whose rows are looked at on their way, one source after the other. */
export interface WatchedMapper extends RecordMapper {
  /** Ends a source; its rows from here on are the next one's. */
  readonly finish: SourceQuality['finish']
}

export function watchMapper(mapper: RecordMapper): WatchedMapper {
  let quality = createSourceQuality()
  return {
    ...mapper,
    map: (row) => {
      const mapped = mapper.map(row)
      quality.row(row)
      quality.add(mapped)
      return mapped
    },
    finish: (...given) => {
      const verdict = quality.finish(...given)
      quality = createSourceQuality()
      return verdict
    },
  }
}

// Shares are judged in files of 100 rows or more (bad-inputs, rules).
const judgedFrom = 100
const damagedShare = 0.005
const misplacedShare = 0.05
const roleShare = 0.01
const repeatedShare = 0.3
/** Percentage points by which a fill rate may fall unremarked. */
const fillFall = 20

export function createSourceQuality(): SourceQuality {
  const quality = createQuality()
  const personal = createPersonalColumns()
  const damaged = new Places()
  const misplaced = new Places()
  const roles = new Places()
  /** As in `QualityFigures`. */
  const suspect = { FILE_SPREADSHEET_DAMAGE: 0, FILE_MAPPING: 0, EMAIL_ROLE_SHARE: 0, IDENTIFIER_SHARE: 0 }
  let rows = 0
  const fault = (code: string, message: string, line: number, kept: number) => {
    if (code === 'SPREADSHEET_DAMAGE') {
      damaged.add(line)
      suspect.FILE_SPREADSHEET_DAMAGE += kept
    } else if (message.includes(looksLikeEmail) || message.includes(looksLikePhone)) {
      misplaced.add(line)
      suspect.FILE_MAPPING += kept
    }
  }
  return {
    row: personal.look,
    add: (mapped) => {
      rows += 1
      const { reject, warnings } = mapped
      if (reject !== undefined) fault(reject.code, reject.message, reject.line, 0)
      for (const { code, message, line } of warnings) {
        if (code === 'EMAIL_ROLE') {
          roles.add(line)
          suspect.EMAIL_ROLE_SHARE++
        } else if (code === 'IDENTIFIER_DROPPED') fault(code, message, line, 1)
      }
      quality.add(mapped)
    },
    finish: (facts, previous, skipped) => {
      const total = rows + skipped
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
      if (total >= judgedFrom && misplaced.count > total * misplacedShare) {
        throw new RunError(
          'FILE_MAPPING',
          `${misplaced.count} of ${total} rows have an email where a phone number is mapped, or the reverse`,
          {
            where: `${facts.uri}, first on line ${misplaced.first}`,
            mend: 'Correct the columns under map:.',
          },
        )
      }
      const { members, filled, mostRepeated, notes } = quality.finish()
      suspect.IDENTIFIER_SHARE = mostRepeated
      const warnings: WarningSummary[] = []
      const tell = (code: string, field: string, message: string, count: number, lines: readonly number[] = []) =>
        warnings.push({ code, field, message, count, lines })
      for (const { code, message, count, examples } of notes) {
        if (code === 'FILL_RATE' || code === 'OUT_OF_STOCK_SHARE' || (skipped > 0 && shares.has(code))) continue
        tell(code, '', examples.length === 0 ? message : `${message}: ${examples.join(', ')}`, count)
      }
      for (const [column, what] of personal.found())
        tell('PERSONAL_COLUMN', column, `the column "${column}" holds what looks like ${what}`, 1)
      if (total >= judgedFrom && roles.count > total * roleShare)
        tell('EMAIL_ROLE_SHARE', 'email', `${roles.count} of ${total} rows have an address of a role or an example`, roles.count, [
          roles.first,
        ])
      for (const column of vanished(facts, previous)) tell('COLUMN_VANISHED', column, `the column "${column}" was there last time`, 1)
      const figures = withSkipped({ members, filled, suspect }, previous?.quality, skipped)
      for (const [kind, before, now] of fallen(previous?.quality, figures))
        tell('FILL_RATE_FELL', kind, `${now} % of the members have ${kind}, last time ${before} %`, 1)
      const most = {
        FILE_SPREADSHEET_DAMAGE: damagedShare,
        FILE_MAPPING: misplacedShare,
        EMAIL_ROLE_SHARE: roleShare,
        IDENTIFIER_SHARE: repeatedShare,
      }
      const doubts =
        skipped === 0 || total < judgedFrom
          ? []
          : Object.entries(most).flatMap(([code, share]) => ((figures.suspect?.[code] ?? total) > total * share ? [code] : []))
      return { warnings, figures, doubts }
    },
  }
}

/**
 * Figures of these rows and of those that were skipped, which had their identifiers as often as all of the last reading, and
 * at most all that was suspect in it.
 */
function withSkipped(own: QualityFigures, before: QualityFigures | undefined, skipped: number): QualityFigures {
  if (skipped === 0) return own
  if (before === undefined) return { ...own, suspect: {} }
  const filled: Record<string, number> = { ...own.filled }
  const share = before.members === 0 ? 0 : skipped / before.members
  for (const [kind, count] of Object.entries(before.filled)) filled[kind] = (filled[kind] ?? 0) + Math.round(count * share)
  const suspect: Record<string, number> = {}
  for (const [code, count] of Object.entries(own.suspect ?? {}))
    if (before.suspect?.[code] !== undefined) suspect[code] = count + before.suspect[code]
  return { members: own.members + (before.members === 0 ? 0 : skipped), filled, suspect }
}

/** Notes on a share of all rows. */
const shares: ReadonlySet<string> = new Set(['ALL_OUT_OF_STOCK', 'BRAND_SAME', 'IDENTIFIER_SHARE'])

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

import { isLeftWord, tellsWhoLeft } from '../../records/consentColumns.ts'
import { findColumn } from '../../records/fields.ts'
import { presetByName } from '../../records/presets/index.ts'
import type { Warning } from '../../records/record.ts'
import { trimText } from '../../records/text.ts'
import type { Look } from './look.ts'

/** A column that seems to say who may be reached, and the values of it that seem to mean yes. */
export interface ConsentProposal {
  readonly column: string
  readonly values: readonly string[]
  /** `yes` 140, `no` 60: the values that were seen, most frequent first; empty where they are too many to be states. */
  readonly seen: readonly { readonly value: string; readonly count: number }[]
}

/**
 * What the export of a known kind says by itself. `consent:` in a pipeline takes its place, so that whoever adds a test of their
 * own has to name these too.
 */
export function presetTests(look: Look, preset: string | undefined): readonly Pick<ConsentProposal, 'column' | 'values'>[] {
  const tests = preset === undefined ? [] : (presetByName(preset)?.consent ?? [])
  return tests.flatMap(({ columns, values }) => {
    const column = columns.map((name) => look.columns[findColumn(look.columns, name)]).find((found) => found !== undefined)
    return column === undefined ? [] : [{ column, values }]
  })
}

/** More values than that are dates or names, and names stay out of files that people share. */
const mostValues = 8
const yes = /^(?:y|yes|true|1|on|ok|ja|j|oui|s[ií]|sim|да|evet|tak|subscribed|confirmed|active|granted|accepted|opt(?:ed)?[ _-]?in)$/i
const no = /^(?:|n|no|false|0|off|nein|non|n[aã]o|нет|hay[ıi]r|nie|null|none)$/i

/** Of the columns that `check` warns of (`CONSENT_UNMAPPED`, `LEFT_UNMAPPED`), one proposal each. Pure; nothing maps by it. */
export function consentProposals(look: Look, warnings: readonly Warning[]): readonly ConsentProposal[] {
  const columns = warnings.flatMap(({ code, field }) => (code === 'CONSENT_UNMAPPED' || code === 'LEFT_UNMAPPED' ? [field] : []))
  return [...new Set(columns)].map((column) => {
    const counts = new Map<string, number>()
    for (const row of look.rows) {
      const cell = row.cells[row.columns.indexOf(column)]
      const value = typeof cell === 'string' ? trimText(cell) : ''
      counts.set(value, (counts.get(value) ?? 0) + 1)
    }
    const seen = [...counts].map(([value, count]) => ({ value, count })).toSorted((a, b) => b.count - a.count)
    const states = seen.length <= mostValues && seen.every(({ value }) => isState(value))
    return { column, values: meaningYes(column, states ? seen.map(({ value }) => value) : undefined), seen: states ? seen : [] }
  })
}

/** A column of people who left says yes by its absence; one of wishes by a word. `seen` undefined: dates, texts. */
function meaningYes(column: string, seen: readonly string[] | undefined): readonly string[] {
  if (tellsWhoLeft(column)) {
    const stayed = seen?.filter((value) => no.test(value)) ?? []
    return stayed.length > 0 ? stayed : ['']
  }
  const good = seen?.filter((value) => yes.test(value)) ?? []
  if (good.length > 0) return good
  // Of a column of states, `list` or `status`, those that do not say that somebody left.
  const others = seen?.filter((value) => !isLeftWord(value) && !no.test(value) && !/^(?:non|not|no|never)[ _-]/i.test(value)) ?? []
  return others.length > 0 && others.length < (seen?.length ?? 0) ? others : ['yes']
}

/** A word or two, and nothing that a person could be reached by. */
function isState(value: string): boolean {
  return /^[\p{L}\d _./-]{0,24}$/u.test(value) && !/\d{4}/.test(value)
}

import { findColumn, firstText } from '../../mapping/fields.ts'
import { columnCalled } from '../../mapping/headerWords.ts'
import { UnreadColumns } from '../../mapping/members/unreadColumns.ts'
import { presetByName } from '../../mapping/presets/index.ts'
import { trimText } from '../../mapping/text.ts'
import type { Look } from './look.ts'

/** Columns that hold emails and phone numbers, whatever they are called. */
export interface PeopleColumns {
  readonly email: readonly string[]
  readonly phone_number: readonly string[]
}

/** By the values of the rows that were looked at; `preset`: its own columns come first, and copies of them are left out. */
export function peopleColumns(look: Look, preset?: string): PeopleColumns {
  const known = presetColumns(look, preset)
  const unread = new UnreadColumns({ consent: true, kinds: ['email', 'phone_number'], ignored: () => false })
  const lookers = new Map<readonly string[], ReturnType<UnreadColumns['bind']>['look']>()
  for (const row of look.rows) {
    let looker = lookers.get(row.columns)
    if (looker === undefined) {
      const indexes = (names: readonly string[]) => names.map((name) => row.columns.indexOf(name)).filter((index) => index >= 0)
      const [email, phone] = [indexes(known.email), indexes(known.phone_number)]
      const identifiers = [
        { kind: 'email' as const, indexes: email },
        { kind: 'phone_number' as const, indexes: phone },
      ]
      looker = unread.bind({ columns: row.columns, used: new Set([...email, ...phone]), identifiers }).look
      lookers.set(row.columns, looker)
    }
    looker(row)
  }
  const found = unread.identifierColumns()
  const of = (kind: 'email' | 'phone_number') => {
    const columns = found.filter((one) => one.kind === kind).map(({ column }) => column)
    // The one that is called so comes first: of a key it is what counts.
    const called = columnCalled(kind, columns)
    return [...known[kind], ...(called === undefined ? columns : [called, ...columns.filter((column) => column !== called)])]
  }
  return { email: of('email'), phone_number: of('phone_number') }
}

function presetColumns(look: Look, preset: string | undefined): PeopleColumns {
  const map = preset === undefined ? undefined : presetByName(preset)?.map
  const present = (field: 'email' | 'phone_number') =>
    (map?.[field]?.columns ?? []).flatMap((name) => look.columns[findColumn(look.columns, name)] ?? [])
  return { email: [...new Set(present('email'))], phone_number: [...new Set(present('phone_number'))] }
}

/** True where every row has a value in the column, and no two rows have the same. */
export function tellsRowsApart(look: Look, column: string): boolean {
  const seen = new Set<string>()
  for (const row of look.rows) {
    const text = trimText(firstText(row.cells[row.columns.indexOf(column)]) ?? '')
    if (text === '' || seen.has(text)) return false
    seen.add(text)
  }
  return true
}

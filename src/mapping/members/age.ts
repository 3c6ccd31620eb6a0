/**
 * Finds and reads columns of ages and dates of birth. Children under 13 are never sent to an audience, even with consent (docs/inputs.md,
 * case 132).
 */
import { allTexts, normalizeHeader } from '../fields.ts'
import type { SourceRow } from '../../model/record.ts'
import { foldedText, trimText } from '../text.ts'
import { nameWords } from '../consent/columnName.ts'
import { withAsciiDigits } from '../identifiers/phone.ts'

/** Column of ages or dates of birth. */
export interface BoundAge {
  readonly index: number
  /** Content of its cells. `age`: ages in years. `group`: ranges of ages, or codes of such ranges. `birth`: dates or years of birth. */
  readonly kind: 'age' | 'group' | 'birth'
  /** YYYY-MM-DD: a person born after this day is under 13 today (UTC). */
  readonly latestBirth: string
}

const minAge = 13
// Names as `normalizeHeader` returns them.
const ageColumns: ReadonlySet<string> = new Set(['age', 'customer_age', 'alter', 'edad'])
const birthColumns: ReadonlySet<string> = new Set([
  'birth_date',
  'birthdate',
  'birthday',
  'date_of_birth',
  'dob',
  'birth_year',
  'year_of_birth',
  'yob',
  'doby',
  'geburtsdatum',
])

// Names as `nameWords` returns them. Ages of other people, such as `child age`, are not among them.
const ageNames =
  /^(?:(?:customer |your |what is your )?age|how old are you|alter|edad|idade|ika|varsta|eletkor|starost|usia|umur|tuoi|leeftijd|wiek|alder|vek|vozrast|yas|ηλικια|возраст|вік|年齢|年龄|나이|العمر|גיל)(?: (?:c|(?:in )?(?:years|yrs|jahren?|ans|anos|anni|jaar|lat)))?$/
const groupNames =
  /^(?:age (?:group|range|bracket|band)|altersgruppe|tranche d age|(?:rango|grupo) de edad|fascia d eta|faixa etaria|leeftijds ?(?:groep|categorie)|grupa wiekowa|alders ?(?:gruppe|grupp)|возрастная группа)$/
const birthNames =
  /^(?:birth ?date|birth ?day|b ?day|date ?(?:of ?)?birth|birth|brthdt|birth ?(?:dt|dob)|ox ?birth ?date|dob|d o b|birth ?(?:year|yr)|year of birth|(?:when were you )?born(?: on)?|yob|(?:d )?geburts ?(?:datum|tag|jahr)|geb ?(?:datum|dat)|geb(?:oren)? am|gbdat|jahrgang|(?:date?|annee) ?(?:de )?naiss(?:ance)?|nee? (?:e )?le|nacimiento|(?:fecha|fec|ano|f) (?:de )?nac(?:imiento)?|cumpleanos|data (?:di )?nascita|nato il|anno di nascita|(?:(?:data|dt) ?)?(?:de )?nasc(?:imento)?|geboorte ?(?:datum|jaar)|data ur(?:odzenia)?|fodelse ?(?:datum|dag|ar)|fødsels ?(?:dato|dag|ar)|syntyma ?(?:aika|paiva|vuosi)|dogum ?(?:tarihi|gunu|y[iı]l[iı])|datum (?:narozeni|narodenia|rodenja|rojstva)|szuletesi (?:datum|ido|ev)|data nasterii|дата рождения|год рождения|дата народження|дата на раждане|ημερομηνια γεννησης|生年月日|誕生日|生日|出生日期|出生年月|생년월일|생일|تاريخ الميلاد|תאריך לידה)(?: (?:p?c|utc|date|at|required))?$/

/** Note in brackets at the end of a name: `Date of birth (DD/MM/YYYY)`, `Alder (år)`. */
const noteAtEnd = /[([]([^()[\]]*)[)\]]\s*$/
/** Words of a note about another person or a thing: `Birthday (child)`, `Age [account]`. */
const otherNote =
  /\b(?:child|children|kids?|sons?|daughters?|baby|spouse|partner|wife|husband|mother|father|mum|mom|dad|mama|papa|parents?|relatives?|pets?|dogs?|cats?|horses?|kind|kinder|kindes|sohn|tochter|hund|katze|pferd|enfants?|fils|fille|bebe|chien|chat|nin[oa]s?|hij[oa]s?|mascota|perro|gato|figli[oa]?|bambin[oi]|cane|gatto|barn|dziecko|account|auto|car|email|mail|sms|reminder|sent|gift|coupon|voucher|campaign|vehicle|company|business|membership)\b/
/** Units of an age that is not in years: `Age (days)`. Beside a birth date they are its format: `(day/month/year)`. */
const unitNote =
  /\b(?:days?|weeks?|months?|tagen?|wochen?|monaten?|jours|semaines|mois|dias|semanas|meses|giorni|settimane|mesi|dagen|weken|maanden|dni|tygodnie|miesiace)\b/
/** Words for the customer at the start of a name: `Customer date of birth`. */
const customerPrefix =
  /^(?:wh(?:at|en) is your|wh(?:at|en) s your|(?:please )?enter your|customers?|cust|contact|person|personal|profile|user|member|subscriber|client|billing|your) /
/** Matches the path of a person in JSON or XML. Below another path, an age may be that of a subscription or order. */
const personPath = /(?:^|\.)(?:customer|contact|person|profile|user|member|demographics|attributes|properties|traits|fields|data)$/i
/** Matches an age in days, weeks or months. It is not read (docs/consent.md#children). */
const shortUnit =
  /\d\s*(?:d|days?|w|wks?|weeks?|mos?|mths?|months?|tage?n?|wochen?|monate?n?|jours?|semaines?|mois|dias?|días?|semanas?|mes|meses|giorn[oi]|settiman[ae]|mes[ei]|dag(?:en)?|weken|maand(?:en)?|dni|tygodn\p{L}*|miesi\p{L}*)(?!\p{L})/iu

/** Matches a word for children at the start: `Kids`, `child (5-12)`. */
const childWord =
  /^(?:(?:school)?child(?:ren)?|kids?|toddlers?|infants?|newborns?|bab(?:y|ies)|minors?|(?:klein|schul)?kind(?:er(?:en)?)?|minderjährige?|enfants?|mineurs?|niñ[oa]s?|menor(?:es)?|crianças?|bambin[oiae]|minori|børn|barn|dzie(?:cko|ci))(?![\p{L}\p{N}])/iu

/** Matches one age, or a range of ages by its lower end: `12 years`, `0-12`, `10+`, `6 à 12 ans`, `from 6 to 12`. */
const ageOrRange =
  /^(?:(?:ages?|aged|from|between|von|zwischen|de|entre|da|tra|van|tussen|od|от)\s+)?0*(\d{1,2})(?:[.,]\d+)?\+?(?:\s*\p{L}[\p{L}\s./]{0,20})?(?:\s*(?:[-\u2010-\u2015]|to|bis|[aàeyi]|al|até|tot|do|до|and|und|et|en)\s*\d{1,3}.{0,20})?$/iu
/** Matches words of a limit, then the highest age: `under 13`, `up to 12`, `bis 12 Jahre`. */
const limitAfterWords =
  /^(?:<=?|≤|u-?(?=\d)|under|below|less than|up to|unter|bis(?: zu)?|moins de|jusqu.à|menos de|hasta|meno di|fino a|onder|tot|até|do|до)\s*(\d{1,2})(?!\d)/iu
/** Matches the highest age, then words of a limit: `17 and under`, `12 ans et moins`. */
const limitBeforeWords = /^0*(\d{1,2})(?!\d)\D{0,20}(?:under|younger|below|less|jünger|moins|menos|meno|jonger|mniej)$/iu

/** Returns the columns of a header that have a usual name of an age or a date of birth. */
export function ageColumnsOf(columns: readonly string[], today: Date): BoundAge[] {
  const latestBirth = `${today.getUTCFullYear() - minAge}${today.toISOString().slice(4, 10)}`
  return columns.flatMap((column, index): BoundAge[] => {
    const kind = kindOf(column) ?? kindBelowPath(column)
    return kind === undefined ? [] : [{ index, kind, latestBirth }]
  })
}

function kindOf(column: string): BoundAge['kind'] | undefined {
  const name = normalizeHeader(column)
  const note = nameWords(noteAtEnd.exec(column)?.[1] ?? '')
  // A note about another person or thing is kept, so that the name matches no pattern.
  const words = nameWords(otherNote.test(note) ? column : column.replace(noteAtEnd, ''))
  // In Italian. Without the accent it would be the arrival of a parcel.
  if (/^età$/iu.test(column.trim().normalize('NFC'))) return 'age'
  if (ageColumns.has(name) || (ageNames.test(words) && !unitNote.test(note))) return 'age'
  if (groupNames.test(words)) return 'group'
  return birthColumns.has(name) || birthNames.test(words.replace(customerPrefix, '')) ? 'birth' : undefined
}

/**
 * Returns the kind of the last name in a path of JSON or XML, such as `profile.birthdate`. Undefined for a path about other people, and
 * for an age or age group outside of `personPath`.
 */
function kindBelowPath(column: string): BoundAge['kind'] | undefined {
  const [path = '', last = ''] = /^(.+)\.([@$]?\p{L}[\p{L}\p{N}_]+)$/u.exec(column)?.slice(1) ?? []
  const kind = otherNote.test(nameWords(path)) ? undefined : kindOf(last)
  return kind === 'birth' || personPath.test(path) ? kind : undefined
}

/**
 * Returns true if a text of the cell shows that the person is or may be under 13. Reads no other forms than these.
 *
 * In a column of ages or groups:
 * - an age of one or two digits (`12`), also with decimals (`12.0`) or words (`12 years`); in groups, `12` alone is a code
 * - a range of ages (`0-12`, `10+`), or a limit (`under 13`, `17 and under`)
 * - a word such as `Kids`
 *
 * In a column of births:
 * - a month (`2013-06`) or an ISO date
 * - a year of two digits (`13`), also in a date (`6/16/13`)
 * - a day number of a spreadsheet, or a Unix time, also with decimals
 * - any other text with a year of four digits (`16.06.2013`, `6/16/2013 0:00`, `2013.0`)
 * - six or eight digits with a year at their start or end (`16062013`)
 * - a year of `yearOfEra`
 */
export function isChild(row: SourceRow, { index, kind, latestBirth }: BoundAge): boolean {
  return allTexts(row.cells[index]).some((cell) => {
    // Spreadsheets write `'` before a text. `foldedText` would change `12½` to `121⁄2`.
    const text = withAsciiDigits(foldedText(trimText(cell).replace(/^['\u2019]|[\u00bc-\u00be]/g, '')))
    if (kind === 'birth') return isChildsBirth(text, latestBirth)
    return (kind === 'age' || !/^\d+$/.test(text)) && isChildsAge(text)
  })
}

/** Returns true for an age that is or may be under 13. */
function isChildsAge(text: string): boolean {
  if (childWord.test(text)) return true
  if (shortUnit.test(text)) return false
  // A limit of up to 18, as in `under 18`, may be about a child.
  const limit = limitAfterWords.exec(text) ?? limitBeforeWords.exec(text)
  if (limit !== null) return Number(limit[1]) <= 18
  const age = ageOrRange.exec(text)
  return age !== null && Number(age[1]) < minAge
}

/** Returns true if a person with this date of birth is or may be under 13. `latestBirth`: as in `BoundAge`. */
function isChildsBirth(text: string, latestBirth: string): boolean {
  const iso = /^((?:19|20)\d{2})-?(0[1-9]|1[0-2])(?:-?(0[1-9]|[12]\d|3[01]))?(?:[T ]|$)/.exec(text)
  // Without a day, the last day of the month: a person who may be twelve counts as a child.
  if (iso !== null) return `${iso[1]}-${iso[2]}-${iso[3] ?? '31'}` > latestBirth
  const isDayNumberOrUnixTime = /^(?:\d{5}|\d{9,10}|\d{12,13})(?:[.,]\d+)?$/.test(text)
  if (isDayNumberOrUnixTime) return dayOfNumber(Number.parseFloat(text.replace(',', '.'))) > latestBirth
  const twoDigitYear = /^(\d{1,2})[-./ ](?:\d{1,2}|\p{L}{3,10}\.?)[-./ ](\d{2})(?: |$)/u.exec(text) ?? /^()(\d{2})$/.exec(text)
  if (twoDigitYear !== null) {
    const [first, last] = [Number(twoDigitYear[1]), Number(twoDigitYear[2])]
    // `85-06-16` starts with its year, because no month has 85 days.
    const year = first > 31 ? first : last
    // This century, or the last one if the year would be in the future.
    const century = 2000 + year <= Number(latestBirth.slice(0, 4)) + minAge ? 2000 : 1900
    return `${century + year}-12-31` > latestBirth
  }
  // Day and month may be in any order, or missing. So the last day of the year is taken. In `20102013` both ends may be the year.
  return (text.match(/\d+/g) ?? [])
    .filter(({ length }) => length === 4 || length === 6 || length === 8)
    .flatMap((digits) => [digits.slice(0, 4), digits.slice(-4)])
    .concat(yearOfEra(text) ?? [])
    .some((year) => /^(?:19|20)/.test(year) && `${year}-12-31` > latestBirth)
}

/** Returns the year of a Japanese date such as `平成27年6月30日`, or of a Thai one such as `30/06/2558`. */
function yearOfEra(text: string): string | undefined {
  const [, era, year] = /^(平成|令和) ?(\d{1,2}|元)/.exec(text) ?? []
  if (year !== undefined) return String((era === '平成' ? 1988 : 2018) + (year === '元' ? 1 : Number(year)))
  const thai = /(?<!\d)25\d{2}(?!\d)/.exec(text)?.[0]
  return thai === undefined ? undefined : String(Number(thai) - 543)
}

/** Returns the day (YYYY-MM-DD) of a day number of a spreadsheet, or of a Unix time in seconds or milliseconds. */
function dayOfNumber(number: number): string {
  const ms = number < 100_000 ? (number - 25_569) * 86_400_000 : number < 100_000_000_000 ? number * 1000 : number
  return new Date(ms).toISOString().slice(0, 10)
}

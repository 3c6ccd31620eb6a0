import { getCountries } from 'libphonenumber-js/max'

let byName: ReadonlyMap<string, string> | undefined

/** `de`, `DE`, `Germany` → `DE`. Anything else is returned in upper case, and then names no country. */
export function countryCode(text: string): string {
  if (text.length === 2) return text.toUpperCase()
  byName ??= englishNames()
  return byName.get(text.toLowerCase()) ?? text.toUpperCase()
}

/** English names by the runtime's own tables, and the abbreviations that exports use. */
function englishNames(): ReadonlyMap<string, string> {
  const display = new Intl.DisplayNames('en', { type: 'region' })
  const names = getCountries().map((code) => [(display.of(code) ?? code).toLowerCase(), code] as const)
  return new Map<string, string>([
    ...names,
    ['usa', 'US'],
    ['united states of america', 'US'],
    ['uk', 'GB'],
    ['great britain', 'GB'],
    ['england', 'GB'],
    ['turkey', 'TR'],
    ['czech republic', 'CZ'],
    ['uae', 'AE'],
    ['south korea', 'KR'],
    ['deutschland', 'DE'],
  ])
}

/**
 * Recognizes text that was decoded with the wrong encoding. Signs are control characters 0x80 to 0x9F, long runs of characters from
 * the upper half of a single-byte code page, and two scripts inside one word. Product names have different scripts only side by
 * side (`USB-кабель`, `Tシャツ`, `10 kΩ`).
 */

const other = 0
const latin = 1
const cyrillic = 2
const greek = 3
const rightToLeft = 4
const eastAsian = 5

const beyondAscii = /[^\u0000-\u007f]/
/** Shortest run of windows-1252 characters above 0x7F that is not a word of any language. */
const longestRun = 4
const fewestDistinct = 3
/** Characters of windows-1252 above 0x7F that have other code points in Unicode. */
const upperElsewhere: ReadonlySet<number> = new Set(Array.from('ŒœŠšŸŽžƒˆ˜‚„†‡…‰‹', (character) => character.charCodeAt(0)))
/** Cyrillic letters in UTF-8, read as windows-1251: every second character is Р or С. */
const doubleCyrillic = /(?:[РС][^\s]){4}/

/**
 * Returns true for text that looks wrongly decoded. A single name may look like that; if many rows do, the encoding is wrong. Pure.
 * Runs for every text of a feed, so it takes one pass.
 */
export function looksGarbled(text: string): boolean {
  if (!beyondAscii.test(text)) return false
  let before = other
  let script = other
  let length = 0
  let upper = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (isNeverText(code)) return true
    upper = code > 0x7f && isUpperHalf(code) ? upper + 1 : 0
    if (upper >= longestRun && new Set(text.slice(i - upper + 1, i + 1)).size >= fewestDistinct) return true
    const now = scriptOf(code)
    if (now === script) {
      length++
      if (now === greek && before === latin && length === 2) return true
      continue
    }
    if (breaksWord({ before, script, now, length })) return true
    before = script
    script = now
    length = 1
  }
  return text.includes('Р') && doubleCyrillic.test(text)
}

/** Returns true for C1 controls. U+0085 is a line end in some exports; private use characters come from East Asian code pages. */
function isNeverText(code: number): boolean {
  return (code >= 0x80 && code <= 0x9f && code !== 0x85) || code === 0xfffd || (code >= 0xe000 && code <= 0xf8ff)
}

function isUpperHalf(code: number): boolean {
  return (
    (code >= 0xa1 && code <= 0xff) ||
    ((code < 0x193 || code > 0x2019 || (code > 0x2c5 && code < 0x2dd)) && code < 0x203a && upperElsewhere.has(code))
  )
}

function scriptOf(code: number): number {
  if (code < 0x80) return (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a ? latin : other
  if (code < 0x250) return code >= 0xc0 && code !== 0xd7 && code !== 0xf7 ? latin : other
  if (code >= 0x370 && code < 0x400) return greek
  if (code >= 0x400 && code < 0x530) return cyrillic
  if (code >= 0x590 && code < 0x780) return rightToLeft
  return (code >= 0x3400 && code < 0xa000) || (code >= 0xac00 && code < 0xd7a4) ? eastAsian : other
}

/**
 * Returns true if neighbouring letters of two scripts cannot be one word. A single Greek letter or a last Cyrillic one is
 * allowed.
 */
function breaksWord({ before, script, now, length }: Readonly<Record<'before' | 'script' | 'now' | 'length', number>>): boolean {
  if (script === latin) return now === cyrillic && length >= 2
  const alien = script === cyrillic || script === greek || script === rightToLeft
  if (alien && now === latin) return before === latin
  return (alien && now === eastAsian) || (script === eastAsian && (now === cyrillic || now === greek || now === rightToLeft))
}

/**
 * Recognizes text that was decoded with the wrong encoding. It has one of these signs:
 * - C1 controls, U+FFFD or private use characters;
 * - a run of characters from the upper half of a single-byte code page;
 * - UTF-8 read as windows-1251;
 * - two scripts that are mixed inside a word. The mixtures of correct product names do not count: `USB-кабель`, `Tシャツ`, `10 kΩ`.
 */

// Scripts, as numbers because the loop compares one for each character.
const other = 0
const latin = 1
const cyrillic = 2
const greek = 3
const rightToLeft = 4
const hanOrHangul = 5

const beyondAscii = /[^\u0000-\u007f]/
/** Minimum length of a run of `isUpperHalf` characters that shows a wrong encoding. Correct text hardly has such a run. */
const shortestGarbledRun = 4
/** Minimum number of different characters in the run: `££££` is correct text. */
const minDistinct = 3
/** Characters that windows-1252 has at 0x80 to 0x9F and that rarely follow each other. `€ ™ •`, dashes and most quotes are not among them. */
const rareWindows1252: ReadonlySet<number> = new Set(Array.from('ŒœŠšŸŽžƒˆ˜‚„†‡…‰‹', (character) => character.charCodeAt(0)))
/** Matches Cyrillic letters in UTF-8 that were read as windows-1251: every second character is Р or С. */
const cyrillicReadAsWindows1251 = /(?:[РС][^\s]){4}/

/**
 * Returns true for text that looks wrongly decoded. A correct name may look like that too, so only many such rows prove a wrong encoding.
 * Pure.
 */
export function looksGarbled(text: string): boolean {
  if (!beyondAscii.test(text)) return false
  // Script and length of the current run, and the script of the run before.
  let script = other
  let length = 0
  let previousScript = other
  // Length of the current run of `isUpperHalf` characters, and its first different characters.
  let upperRun = 0
  const distinct: number[] = []
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (isNeverText(code)) return true
    if (code > 0x7f && isUpperHalf(code)) {
      if (upperRun === 0) distinct.length = 0
      upperRun++
      if (distinct.length < minDistinct && !distinct.includes(code)) distinct.push(code)
      if (upperRun >= shortestGarbledRun && distinct.length >= minDistinct) return true
    } else upperRun = 0
    const nextScript = scriptOf(code)
    if (nextScript === script) {
      length++
      // Latin directly before two Greek letters. Before only one, it could be a unit such as `kΩ`.
      if (script === greek && previousScript === latin && length === 2) return true
      continue
    }
    if (breaksWord({ previousScript, script, length, nextScript })) return true
    previousScript = script
    script = nextScript
    length = 1
  }
  return text.includes('Р') && cyrillicReadAsWindows1251.test(text)
}

/**
 * Returns true for C1 controls, U+FFFD, and private use characters (decoders of East Asian code pages return these). Excludes U+0085, a
 * line end in some exports.
 */
function isNeverText(code: number): boolean {
  return (code >= 0x80 && code <= 0x9f && code !== 0x85) || code === 0xfffd || (code >= 0xe000 && code <= 0xf8ff)
}

/** Returns true for U+00A1 to U+00FF and for `rareWindows1252`. Excludes most characters before it searches the set. */
function isUpperHalf(code: number): boolean {
  return (
    (code >= 0xa1 && code <= 0xff) ||
    ((code < 0x193 || code > 0x2019 || (code > 0x2c5 && code < 0x2dd)) && code < 0x203a && rareWindows1252.has(code))
  )
}

function scriptOf(code: number): number {
  if (code < 0x80) return (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a ? latin : other
  if (code < 0x250) return code >= 0xc0 && code !== 0xd7 && code !== 0xf7 ? latin : other
  if (code >= 0x370 && code < 0x400) return greek
  if (code >= 0x400 && code < 0x530) return cyrillic
  if (code >= 0x590 && code < 0x780) return rightToLeft
  return (code >= 0x3400 && code < 0xa000) || (code >= 0xac00 && code < 0xd7a4) ? hanOrHangul : other
}

/**
 * Returns true if a character of `nextScript` after the run (`script`, `length`) would give the word one of these mixtures:
 * - Cyrillic directly after two or more Latin letters;
 * - Latin letters on both sides of another alphabet;
 * - Chinese characters or Korean syllables beside another alphabet than Latin. Kana count as no script here.
 */
function breaksWord({
  previousScript,
  script,
  length,
  nextScript,
}: Readonly<Record<'previousScript' | 'script' | 'length' | 'nextScript', number>>): boolean {
  if (script === latin) return nextScript === cyrillic && length >= 2
  if (script === hanOrHangul) return isNonLatinAlphabet(nextScript)
  if (!isNonLatinAlphabet(script)) return false
  return nextScript === hanOrHangul || (nextScript === latin && previousScript === latin)
}

/** Returns true for the script of an alphabet other than Latin. */
function isNonLatinAlphabet(script: number): boolean {
  return script === cyrillic || script === greek || script === rightToLeft
}

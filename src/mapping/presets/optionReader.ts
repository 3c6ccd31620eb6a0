/**
 * Returns a function that reads one option of a variant, such as its size; `''` if the variant lacks it. `names`: possible names of the
 * option, in lower case. `texts`: a name, its value, the next name, and so on.
 */
export function optionReader(...names: readonly string[]): (texts: readonly string[]) => string {
  return (texts) => {
    const nameIndex = texts.findIndex((text, index) => index % 2 === 0 && names.includes(text.toLowerCase()))
    return nameIndex < 0 ? '' : (texts[nameIndex + 1] ?? '')
  }
}

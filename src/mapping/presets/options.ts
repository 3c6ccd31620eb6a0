/**
 * Returns a function that reads one option of a variant, such as its size. `names`: possible names of the option, in lower case. The
 * function takes the texts of the option columns: a name, its value, the next name, and so on. If no option has one of these names, the
 * function returns `''`.
 */
export function optionReader(...names: readonly string[]): (texts: readonly string[]) => string {
  return (texts) => {
    const nameIndex = texts.findIndex((text, index) => index % 2 === 0 && names.includes(text.toLowerCase()))
    return nameIndex < 0 ? '' : (texts[nameIndex + 1] ?? '')
  }
}

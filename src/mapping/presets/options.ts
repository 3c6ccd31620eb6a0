/** Reads the options of a variant from the texts of its columns, in the order name, value, name, value … */

/** Returns a function that reads the value of the option with one of these lower-case names; `''` if there is none. */
export function optionCalled(...names: readonly string[]): (texts: readonly string[]) => string {
  return (texts) => {
    const at = texts.findIndex((text, index) => index % 2 === 0 && names.includes(text.toLowerCase()))
    return at < 0 ? '' : (texts[at + 1] ?? '')
  }
}

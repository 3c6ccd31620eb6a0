/** Reads options of a variant as exports write them: name, value, name, value … */

/**
 * Returns a function that reads the option with one of these names if it has one value. A list describes the product, not the
 * variant.
 */
export function optionCalled(...names: readonly string[]): (texts: readonly string[]) => string {
  return (texts) => {
    const at = texts.findIndex((text, index) => index % 2 === 0 && names.includes(text.toLowerCase()))
    const value = at < 0 ? '' : (texts[at + 1] ?? '')
    return /[,|]/.test(value) ? '' : value
  }
}

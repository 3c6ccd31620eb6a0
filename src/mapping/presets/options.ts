/** Reads options of a variant from columns in the order name, value, name, value … */

/**
 * Returns a function that reads the option with one of these names. An option with a list of values is left out, because it
 * describes the product and not the variant.
 */
export function optionCalled(...names: readonly string[]): (texts: readonly string[]) => string {
  return (texts) => {
    const at = texts.findIndex((text, index) => index % 2 === 0 && names.includes(text.toLowerCase()))
    const value = at < 0 ? '' : (texts[at + 1] ?? '')
    return /[,|]/.test(value) ? '' : value
  }
}

/** Options of a variant as exports write them: name, value, name, value … */

/**
 * Value of the option that has one of these names, where it is one value: a list says what the product comes in, not what
 * this one is.
 */
export function optionCalled(...names: readonly string[]): (texts: readonly string[]) => string {
  return (texts) => {
    const at = texts.findIndex((text, index) => index % 2 === 0 && names.includes(text.toLowerCase()))
    const value = at < 0 ? '' : (texts[at + 1] ?? '')
    return /[,|]/.test(value) ? '' : value
  }
}

/**
 * Returns a function that reads one option of a variant, such as its size. `names`: possible names of the option, in lower case. The
 * function takes the texts of the option columns in the order name, value, name, value … It returns `''` if no option has such a name.
 */
export function optionCalled(...names: readonly string[]): (texts: readonly string[]) => string {
  return (texts) => {
    const at = texts.findIndex((text, index) => index % 2 === 0 && names.includes(text.toLowerCase()))
    return at < 0 ? '' : (texts[at + 1] ?? '')
  }
}

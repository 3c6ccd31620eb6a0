/** Replaces `${NAME}` in the values of pipeline files and of sluice.yaml. */
import { storableText } from '../storableText.ts'
import { problemAt, type PathProblem, type ValuePath } from './problems.ts'

/** Values of variables by name; undefined for a variable that is not set. */
export type Variables = Readonly<Record<string, string | undefined>>

const reference = /\$(\$?)\{([^}]*)\}/g

/**
 * Returns a copy of `value` with every `${NAME}` and `${NAME:-default}` in its texts replaced. `$${NAME}` becomes `${NAME}`. Keys,
 * functions and values that are not text are unchanged. If there is a default, an empty variable counts as not set. Line ends at the end of
 * a variable are left out, as by a shell: mounted secrets often have one.
 *
 * Returns a problem for each invalid reference, and for each variable that is not set and has no default. Both stay in the copy as written.
 * Also returns a problem for a key or text that Postgres cannot store. A value that contains itself or is nested too deeply is a problem
 * too, and the copy does not have it.
 *
 * `references`: paths of the values that are one reference and nothing else.
 */
export function expandVariables(
  value: unknown,
  variables: Variables,
): { readonly value: unknown; readonly problems: readonly PathProblem[]; readonly references: readonly ValuePath[] } {
  const problems: PathProblem[] = []
  const references: ValuePath[] = []
  /** Objects and lists around the current value, and itself. Their copies are not complete yet. */
  const enclosing = new Set<unknown>()
  return { value: expand(value, []), problems, references }

  function expand(part: unknown, parts: ValuePath): unknown {
    if (typeof part === 'string') {
      const text = part.replace(reference, (whole, escaped: string, inner: string) => replace(whole, escaped, inner, parts))
      checkStorable(text, parts)
      if (/^\$\{[^}]*\}$/.test(part)) references.push(parts)
      return text
    }
    if (!Array.isArray(part) && !isPlainObject(part)) return part
    if (enclosing.has(part) || parts.length > maxDepth) {
      problems.push(problemAt(parts, enclosing.has(part) ? 'contains itself' : `is nested more than ${maxDepth} levels deep`))
      return undefined
    }
    enclosing.add(part)
    const copy = Array.isArray(part)
      ? part.map((item, index) => expand(item, [...parts, index]))
      : Object.fromEntries(
          Object.entries(part).map(([key, item]) => {
            checkStorable(key, [...parts, key])
            return [key, expand(item, [...parts, key])]
          }),
        )
    enclosing.delete(part)
    return copy
  }

  function checkStorable(text: string, parts: ValuePath): void {
    if (text !== storableText(text)) problems.push(problemAt(parts, 'contains U+0000 or half of a character', 'write the text without it'))
  }

  function replace(whole: string, escaped: string, inner: string, parts: ValuePath): string {
    if (escaped !== '') return whole.slice(1)
    const [, name = '', fallback] = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/.exec(inner) ?? []
    if (name === '') {
      const message = `"${whole.slice(0, 60)}" is not a reference to a variable`
      problems.push(problemAt(parts, message, 'write ${NAME} or ${NAME:-default}; $${ keeps it as text'))
      return whole
    }
    const given = variables[name]?.replace(/[\r\n]+$/, '')
    if (given !== undefined && (given !== '' || fallback === undefined)) return given
    if (fallback !== undefined) return fallback
    problems.push(problemAt(parts, `the variable ${name} is not set`, `set ${name} in .env, or write \${${name}:-default}`))
    return whole
  }
}

/**
 * Returns a copy of `value` in which the texts at `paths` are numbers or booleans, if they read so: `5`, `0.5`, `true`. Used where a setting
 * does not take the text of a variable.
 */
export function retypeTextsAt(value: unknown, paths: readonly ValuePath[]): unknown {
  return paths.reduce<unknown>((copy, path) => retypeAt(copy, path), value)
}

function retypeAt(part: unknown, [name, ...rest]: ValuePath): unknown {
  if (name === undefined) return typeof part === 'string' ? numberOrBoolean(part) : part
  if (Array.isArray(part)) return part.map((item: unknown, index) => (index === name ? retypeAt(item, rest) : item))
  return isPlainObject(part) ? { ...part, [name]: retypeAt(part[name], rest) } : part
}

function numberOrBoolean(text: string): unknown {
  if (/^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/.test(text)) return Number(text)
  return text === 'true' || text === 'false' ? text === 'true' : text
}

/** Maximum depth of a value in a file. A deeper one could exceed the stack. */
const maxDepth = 100

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

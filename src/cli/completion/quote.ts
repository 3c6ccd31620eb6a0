import type { Place, Shape, ValueKind, Word } from './shape.ts'

/** One word for bash and zsh, with nothing left for them to expand. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Alternatives of a `case` of bash and zsh. */
export function alternatives(texts: readonly string[]): string {
  return texts.map(quote).join('|')
}

/** Flags whose value is of one of `kinds`. */
export function flagsOf(shape: Shape, ...kinds: readonly ValueKind[]): string[] {
  return [...shape.values].filter(([, kind]) => kinds.includes(kind)).map(([flag]) => flag)
}

/**
 * The commands as the scripts meet them: what was read so far, a blank, and the next word. `sluice` itself is no word, hence
 * the blank that `' run'` begins with.
 */
export function steps(shape: Shape): string[] {
  return shape.places.filter(({ path }) => path !== '').map(({ path }) => (path.includes(' ') ? path : ` ${path}`))
}

/** A line a place that has any such words, for the body of a `case`. */
export function cases(shape: Shape, words: (place: Place) => readonly Word[], line: (words: readonly Word[]) => string): string[] {
  return shape.places.filter((place) => words(place).length > 0).map((place) => `      (${quote(place.path)}) ${line(words(place))} ;;`)
}

/** Paths of the places whose arguments are so many pipelines; never empty, so that a `case` stays one. */
export function pathsTaking(shape: Shape, pipelines: 'first' | 'all'): string[] {
  return shape.places.filter((place) => place.pipelines === pipelines).map(({ path }) => path)
}

/** Finds sentences that are too long to understand in one reading. CONTRIBUTING.md explains the rule. */

/** Maximum number of words of a sentence in comments and pages. The rule is about 20. */
export const mostWords = 22

/** A sentence with too many words, and the place of its first character. */
export interface LongSentence {
  readonly words: number
  readonly opening: string
  readonly at: number
}

/** Marks that divide a text into pieces of prose: empty lines, headings, items of a list, cells of a table, line breaks in cells, tags of a docstring. */
const divider = /<br>|\n[ \t]*\n|\n(?=[ \t]*(?:[-*#>|@]|\d+\. ))|\|/
const sentenceEnd = /(?<=[.?!][)"”*]*)\s+(?=\S)/
/** Ends that are not the end of a sentence. */
const abbreviation = /(?:\be\.g|\bi\.e|\betc|\bvs|\bno|\bspec)\.$/

/** Returns the sentences of a comment or a page that have more than `limit` words. A code span counts as one word. */
export function longSentences(text: string, limit = mostWords): readonly LongSentence[] {
  return splitWithPlaces(withoutCommentMarks(text), divider).flatMap(({ value, at }) =>
    sentencesOf(value)
      .map((sentence) => ({ words: wordsIn(sentence.value), opening: openingOf(sentence.value), at: at + sentence.at }))
      .filter(({ words }) => words > limit),
  )
}

interface Part {
  readonly value: string
  readonly at: number
}

function sentencesOf(paragraph: string): readonly Part[] {
  const parts: Part[] = []
  for (const part of splitWithPlaces(paragraph, sentenceEnd)) {
    const last = parts.at(-1)
    if (last !== undefined && abbreviation.test(last.value)) parts[parts.length - 1] = { value: `${last.value} ${part.value}`, at: last.at }
    else parts.push(part)
  }
  return parts
}

function splitWithPlaces(text: string, separator: RegExp): readonly Part[] {
  const parts: Part[] = []
  let from = 0
  for (const { 0: match, index } of text.matchAll(new RegExp(separator, 'g'))) {
    parts.push({ value: text.slice(from, index), at: from })
    from = index + match.length
  }
  parts.push({ value: text.slice(from), at: from })
  return parts
}

/** Replaces the marks at the start of each line of a comment by spaces. */
const withoutCommentMarks = (text: string) => text.replaceAll(/^[ \t]*(?:\*|\/\/)(?=[ \t\n]|$)/gm, (marks) => ' '.repeat(marks.length))

/** Counts words: sequences without a space that have a letter. */
function wordsIn(sentence: string): number {
  return sentence
    .replaceAll(/`[^`]*`/g, 'code')
    .split(/\s+/)
    .filter((word) => /\p{L}/u.test(word)).length
}

function openingOf(sentence: string): string {
  return sentence.trim().split(/\s+/).slice(0, 6).join(' ')
}

import { describe, expect, test } from 'vitest'
import { longSentences } from '../../../scripts/words/sentences.ts'

const words = (count: number) => Array.from({ length: count }, (_, i) => `word${i}`).join(' ')
const found = (text: string) => longSentences(text, 5).map((sentence) => sentence.words)

describe('sentences that are too long', () => {
  test('are found with their length and their place', () => {
    expect(longSentences(`Short.\n${words(6)}.`, 5)).toEqual([{ words: 6, opening: 'word0 word1 word2 word3 word4 word5.', at: 7 }])
    expect(found(`${words(5)}. ${words(5)}.`)).toEqual([])
  })

  test('may span lines of a comment', () => {
    expect(found(`*\n * ${words(3)}\n * ${words(3)}.\n `)).toEqual([6])
    expect(found(` ${words(3)}\n  // ${words(3)}`)).toEqual([6])
  })

  test('end at a paragraph, an item of a list, a cell of a table, a line break in it, a heading and a tag', () => {
    expect(found(`${words(3)}\n\n${words(3)}`)).toEqual([])
    expect(found(`${words(3)}\n- ${words(3)}\n- ${words(3)}\n1. ${words(3)}`)).toEqual([])
    expect(found(`| ${words(3)} | ${words(3)} |`)).toEqual([])
    expect(found(`| ${words(3)}<br>${words(3)} |`)).toEqual([])
    expect(found(`# ${words(3)}\n# ${words(3)}`)).toEqual([])
    expect(found(`*\n * ${words(3)}\n * @throws ${words(3)}`)).toEqual([])
  })

  test('do not end at an abbreviation or inside a word', () => {
    expect(found(`${words(3)}, e.g. ${words(3)}`)).toEqual([7])
    expect(found(`${words(3)} a.b ${words(3)}`)).toEqual([7])
  })

  test('count a code span as one word, and numbers and signs as none', () => {
    expect(found(`${words(4)} \`one two three\`.`)).toEqual([])
    expect(found(`${words(5)} 12 – 13 = 14.`)).toEqual([])
  })
})

/** Encodings recognized by statistics: the right one is always among the suggestions, and a certain one is never wrong. */
import { describe, expect, test } from 'vitest'
import { guessEncodings } from '../../../src/formats/encodingGuess.ts'
import { encodeAs } from '../../support/encodeAs.ts'
import { read } from './support.ts'

const titles: Readonly<Record<string, readonly string[]>> = {
  ja: ['赤い靴 レザー', '青いカップ 陶器', '木製のテーブル', '夏用の帽子', '革の財布', '柔らかい革で作られた赤い靴です。'],
  de: ['Rote Schuhe für Männer', 'Blaue Schüssel', 'Tisch, geölt', 'Grüne Mütze', 'Lederbörse', 'Größe: 40'],
  tr: ['Kırmızı ayakkabı', 'Mavi fincan', 'Meşe masa', 'Yazlık şapka', 'Deri cüzdan', 'Yün eldiven'],
  ru: ['Красные туфли', 'Синяя чашка', 'Дубовый стол', 'Летняя шляпа', 'Кожаный кошелёк', 'Перчатки'],
  pl: ['Czerwone buty męskie', 'Niebieska filiżanka', 'Stół dębowy', 'Portfel skórzany', 'Rękawiczki', 'Buty z miękkiej skóry.'],
  cs: ['Červené boty', 'Modrý šálek', 'Dubový stůl', 'Kožená peněženka', 'Boty z měkké kůže.', 'Pevný dubový stůl'],
  zh: ['红色皮鞋', '蓝色杯子', '橡木桌', '夏季帽子', '柔软皮革制成的红鞋。', '日常使用的蓝色陶瓷杯。'],
  tw: ['紅色皮鞋', '藍色杯子', '橡木桌', '真皮錢包', '柔軟皮革製成的紅鞋。', '日常使用的藍色陶瓷杯。'],
  ko: ['빨간 구두', '파란 컵', '참나무 탁자', '여름 모자', '부드러운 가죽으로 만든 빨간 구두.', '튼튼한 참나무 탁자'],
  el: ['Κόκκινα παπούτσια', 'Μπλε φλιτζάνι', 'Δρύινο τραπέζι', 'Καπέλο', 'Δερμάτινο πορτοφόλι', 'Γάντια'],
  he: ['נעליים אדומות', 'ספל כחול', 'שולחן עץ', 'כובע קיץ', 'ארנק עור', 'כפפות'],
}

const cases = [
  ['ja', 'shift_jis', true],
  ['ja', 'euc-jp', true],
  ['de', 'windows-1252', true],
  ['tr', 'windows-1254', true],
  ['ru', 'windows-1251', true],
  ['ru', 'koi8-r', true],
  ['pl', 'windows-1250', true],
  ['cs', 'windows-1250', true],
  ['cs', 'iso-8859-2', false],
  ['zh', 'gbk', true],
  ['tw', 'big5', true],
  ['ko', 'euc-kr', true],
  ['el', 'windows-1253', true],
  ['he', 'windows-1255', true],
] as const

const fileOf = (language: string) => `id,title\n${(titles[language] ?? []).map((title, at) => `${at},${title}\n`).join('')}`

describe('the encoding of a file', () => {
  test.each(cases)('%s in %s: certain %s', async (language, encoding, certain) => {
    const text = fileOf(language)
    const bytes = encodeAs(text, encoding)
    const found = await guessEncodings(bytes)
    const reads = found.guesses.map((guess) => new TextDecoder(guess.encoding).decode(bytes))
    expect(reads).toContain(text)
    expect(found.certain).toBe(certain)
    if (certain) expect(reads[0]).toBe(text)
    const right = found.guesses[reads.indexOf(text)]
    expect(right?.samples).toHaveLength(3)
    for (const sample of right?.samples ?? []) expect(text).toContain(sample.replace(/…$/, ''))
  })

  test('does not depend on where a chunk ends', async () => {
    const bytes = encodeAs(fileOf('ko'), 'euc-kr')
    for (let chunkBytes = 12; chunkBytes < bytes.length; chunkBytes++) {
      const error: unknown = await read(bytes, { chunkBytes }).catch((thrown: unknown) => thrown)
      expect(error, `chunks of ${chunkBytes}`).toMatchObject({ message: expect.stringContaining('look like euc-kr') })
    }
  })

  test('leaves out a last cell that ends inside a character', async () => {
    const bytes = encodeAs(fileOf('ko'), 'euc-kr')
    for (const cut of [2, 3, 4, 5]) expect((await guessEncodings(bytes.subarray(0, -cut))).guesses[0]?.encoding).toBe('euc-kr')
  })

  test('is not certain from one value', async () => {
    for (const [language, encoding] of cases) {
      const bytes = encodeAs(`<title>${titles[language]?.[0]}</title>`, encoding)
      expect((await guessEncodings(bytes)).certain).toBe(false)
    }
  })

  test('is shown for a file of people by single letters', async () => {
    const { guesses } = await guessEncodings(
      encodeAs('key,email,name\n1,a@example.com,Jörg Müller\n2,b@example.com,Zoë Groß\n', 'windows-1252'),
    )
    expect(guesses[0]?.samples.toSorted()).toEqual(['Jör', 'oë '])
  })

  test('case 11: is named in the error and its hint, without a value of the file', async () => {
    const error: unknown = await read(encodeAs(fileOf('ja'), 'shift_jis')).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'FILE_ENCODING',
      where: 'feed, byte 11',
      message: 'bytes that are not utf-8; they look like shift_jis',
      hint: 'Set `encoding: shift_jis` of the source, or export as UTF-8.',
    })
  })
})

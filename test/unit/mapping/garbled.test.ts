import { expect, test } from 'vitest'
import { looksGarbled } from '../../../src/mapping/garbled.ts'

test.for([
  'Größe XL, 40 × 60',
  'Crème brûlée à l’été …',
  'Červené boty',
  'Şapka İĞÜŞÖÇ',
  'Tiếng Việt được',
  'Кожаный ремень, USB-кабель 3м',
  'Ελληνικά',
  'עברית USB',
  '赤い靴 Tシャツ',
  '빨간 구두 USB케이블',
  '10 kΩ 5 μm ½ ¼ ¾ ££££',
])('%s is text', (text) => {
  expect(looksGarbled(text)).toBe(false)
})

test.for([
  ['赤い靴', '90d482a28c43', 'windows-1252'],
  ['Красные туфли', 'caf0e0f1edfbe520f2f3f4ebe8', 'windows-1252'],
  ['Größe für Männer', '4772f6df652066fc72204de46e6e6572', 'windows-1251'],
  ['Größe für Männer', '4772f6df652066fc72204de46e6e6572', 'windows-1253'],
  ['Красные туфли', Buffer.from('Красные туфли').toString('hex'), 'windows-1251'],
] as const)('%s in the bytes %s read as %s is garbled', ([, hex, encoding]) => {
  expect(looksGarbled(new TextDecoder(encoding).decode(Buffer.from(hex, 'hex')))).toBe(true)
})

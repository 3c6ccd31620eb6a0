import { expect, test } from 'vitest'
import { hasHtml } from '../../../src/sandbox/catalogs/productRules.ts'

test.for(['<!doctype> Mug', '<!DOCTYPE html> Mug', '<!-- Mug -->', '<b>Mug</b>', 'Mug<br/>'])('%s is HTML', (text) => {
  expect(hasHtml(text)).toBe(true)
})

test.for(['Mug < 5 cm', 'a <3 mug', '<! Mug', 'Mug'])('%s is plain text', (text) => {
  expect(hasHtml(text)).toBe(false)
})

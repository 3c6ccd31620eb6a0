import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { meaningsOfReason } from '../../../src/sync/reports/reasonMeanings.ts'

describe('the meaning of a reason', () => {
  it('joins the meanings of an answer with several reasons', () => {
    expect(meaningsOfReason('id-missing unknown-status')).toBe(
      'the answer has no result for this product; the answer has a status that is not documented',
    )
  })

  it('names the status of an answer without a readable error', () => {
    expect(meaningsOfReason('http-502')).toBe('the service answered 502')
    expect(meaningsOfReason('http-400-unreadable')).toBe('the service answered 400, without a readable error')
  })

  it('is empty for a code of the service', () => {
    expect(meaningsOfReason('215')).toBe('')
  })

  it('exists for every reason that the code writes', () => {
    const folders = ['src/destinations', 'src/sync/push', 'src/db/batches']
    const texts = folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => readFileSync(join(folder, name), 'utf8')),
    )
    const reasons = new Set(
      texts.flatMap((text) => Array.from(text.matchAll(/\b(?:reason|code): '([a-z_-]+)'|ambiguous\('([a-z_-]+)'/g), (m) => m[1] ?? m[2])),
    )
    expect(reasons.size).toBeGreaterThan(15)
    expect([...reasons].filter((reason) => meaningsOfReason(reason ?? '') === '')).toEqual([])
  })
})

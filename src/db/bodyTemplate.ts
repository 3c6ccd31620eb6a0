/**
 * Builds templates of request bodies, and rebuilds the bodies. A template is the compressed body without the digests of its keys. It has
 * about a hundredth of the size of the body. The digests are stored in `batch_entries.keys` (docs/decisions/packed-state.md).
 */
import { hash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { identifierBytes } from '../model/record.ts'

/** Stands for a digest in a template. JSON never contains the byte 0. */
const placeholder = '\0'
/** Number of hex digits of a key in `batch_entries.keys`. Batches with other keys have no template. */
const keyDigits = identifierBytes * 2

/**
 * Returns the template of a body. `keys`: its packed identifiers in hex, in the order of the body. Returns undefined if the body does not
 * have the digests of these keys in this order, or contains the byte 0.
 */
export function toTemplate(body: Buffer, keys: readonly string[]): Buffer | undefined {
  const text = body.toString('latin1')
  if (text.includes(placeholder)) return undefined
  let template = ''
  let at = 0
  for (const key of keys) {
    const digest = key.slice(2)
    const found = text.indexOf(digest, at)
    if (found < 0) return undefined
    template += text.slice(at, found) + placeholder
    at = found + digest.length
  }
  return compressTemplate(Buffer.from(template + text.slice(at), 'latin1'))
}

/** Returns a template to store. `text`: a body with the byte 0 in place of each digest. */
export function compressTemplate(text: Buffer): Buffer {
  return deflateRawSync(text, { level: 1 })
}

/** Rebuilds a body. `keys`: all keys in hex, concatenated. @throws {Error} if the SHA-256 of the result is not `sha256` */
export function fillTemplate(template: Buffer, keys: string, sha256: Buffer): Buffer {
  const parts = inflateRawSync(template).toString('latin1').split(placeholder)
  let text = parts[0] ?? ''
  for (let i = 1; i < parts.length; i++) {
    const from = (i - 1) * keyDigits
    text += keys.slice(from + 2, from + keyDigits) + parts[i]
  }
  const body = Buffer.from(text, 'latin1')
  if (!hash('sha256', body, 'buffer').equals(sha256)) throw new Error('the stored request body is not the one that was frozen')
  return body
}

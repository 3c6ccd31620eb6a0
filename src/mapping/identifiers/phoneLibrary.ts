/**
 * Loads libphonenumber and its metadata when they are first needed. Phone numbers and a fixed default country need the metadata. Numbers
 * that `phoneFast.ts` does not read need the library. Both together take 21 MB and 80 ms. A run without new phone numbers loads at most the
 * metadata.
 */
import { createRequire } from 'node:module'
import type * as libphonenumber from 'libphonenumber-js/max'
import type { MetadataJson } from 'libphonenumber-js/core'

const require = createRequire(import.meta.url)
let library: typeof libphonenumber | undefined
let metadata: MetadataJson | undefined

/** Returns the library. The first call loads it. */
export function phoneLibrary(): typeof libphonenumber {
  return (library ??= require('libphonenumber-js/max') as typeof libphonenumber) // require has no types
}

/** Returns the numbering plans of the library. The first call loads them. */
export function phoneMetadata(): MetadataJson {
  return (metadata ??= require('libphonenumber-js/max/metadata') as MetadataJson) // require has no types
}

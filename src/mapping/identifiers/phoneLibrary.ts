/**
 * Loads libphonenumber and its metadata when they are first needed: the metadata for a phone number or a default country, the library for
 * a number that `phoneFast.ts` does not read. Together they take 21 MB and 80 ms, which a run without new phone numbers saves.
 */
import { createRequire } from 'node:module'
import type * as libphonenumber from 'libphonenumber-js/max'
import type { MetadataJson } from 'libphonenumber-js/core'

const require = createRequire(import.meta.url)
let library: typeof libphonenumber | undefined
let metadata: MetadataJson | undefined

/** Returns the library, which is loaded by the first call. */
export function phoneLibrary(): typeof libphonenumber {
  return (library ??= require('libphonenumber-js/max') as typeof libphonenumber) // require has no types
}

/** Returns the numbering plans of the library, which are loaded by the first call. */
export function phoneMetadata(): MetadataJson {
  return (metadata ??= require('libphonenumber-js/max/metadata') as MetadataJson) // require has no types
}

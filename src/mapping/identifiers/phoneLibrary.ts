/**
 * Loads libphonenumber and its metadata when first needed: together they take 21 MB and 80 ms. Numbers that `phoneFast.ts` reads need only
 * the metadata.
 */
import { createRequire } from 'node:module'
import type * as libphonenumber from 'libphonenumber-js/max'
import type { MetadataJson } from 'libphonenumber-js/core'

const require = createRequire(import.meta.url)
let library: typeof libphonenumber | undefined
let metadata: MetadataJson | undefined

export function phoneLibrary(): typeof libphonenumber {
  return (library ??= require('libphonenumber-js/max') as typeof libphonenumber) // require has no types
}

/** Returns the numbering plans of the library. */
export function phoneMetadata(): MetadataJson {
  return (metadata ??= require('libphonenumber-js/max/metadata') as MetadataJson) // require has no types
}

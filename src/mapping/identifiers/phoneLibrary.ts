/** libphonenumber and its metadata, loaded with the first phone number: 21 MB and 80 ms that a run without new rows does not need. */
import { createRequire } from 'node:module'
import type * as libphonenumber from 'libphonenumber-js/max'
import type { MetadataJson } from 'libphonenumber-js/core'

const require = createRequire(import.meta.url)
let library: typeof libphonenumber | undefined
let metadata: MetadataJson | undefined

/** Returns the library. */
export function phoneLibrary(): typeof libphonenumber {
  return (library ??= require('libphonenumber-js/max') as typeof libphonenumber)
}

/** Returns the numbering plans that the library decides by. */
export function phoneMetadata(): MetadataJson {
  return (metadata ??= require('libphonenumber-js/max/metadata') as MetadataJson)
}

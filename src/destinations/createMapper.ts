import type { Pipeline } from '../model/pipeline.ts'
import { mapperOf, type DescribingMapper } from '../mapping/mapper.ts'
import { destinationOf } from './index.ts'

/**
 * Creates the mapper for one source file. Pure except for a cache of bound headers. `today`: day for the age of a person, and for
 * the end of a membership whose row has none.
 */
export function createMapper(pipeline: Pipeline, today: Date): DescribingMapper {
  return mapperOf(pipeline, destinationOf(pipeline.destination.kind).bind(pipeline, today))
}

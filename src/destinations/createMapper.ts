import type { Pipeline } from '../model/pipeline.ts'
import { mapperOf, type DescribingMapper } from '../mapping/mapper.ts'
import { destinationOf } from './index.ts'

/**
 * Creates the mapper for one source file. Pure except for a cache of bound headers. `today` decides who is a child, and when a
 * membership ends if the row names no end.
 */
export function createMapper(pipeline: Pipeline, today: Date): DescribingMapper {
  return mapperOf(pipeline, destinationOf(pipeline.destination.kind).bind(pipeline, today))
}

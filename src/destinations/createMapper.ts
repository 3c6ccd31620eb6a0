import type { Pipeline } from '../model/pipeline.ts'
import { mapperOf, type DescribingMapper } from '../mapping/mapper.ts'
import { destinationOf } from './index.ts'

/**
 * Creates the mapper for the sources of a pipeline. Pure except for a cache of bound headers. `today`: current day, to compute a person's
 * age and to check times of rows.
 */
export function createMapper(pipeline: Pipeline, today: Date): DescribingMapper {
  return mapperOf(pipeline, destinationOf(pipeline.destination.kind).bind(pipeline, today))
}

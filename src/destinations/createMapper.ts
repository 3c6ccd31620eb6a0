import type { Pipeline } from '../model/pipeline.ts'
import { mapperOf, type DescribingMapper } from '../mapping/mapper.ts'
import { destinationOf } from './index.ts'

/**
 * Creates the mapper for the sources of a pipeline. `today`: day from which the age of a person and the default end of a membership are
 * computed.
 */
export function createMapper(pipeline: Pipeline, today: Date): DescribingMapper {
  return mapperOf(pipeline, destinationOf(pipeline.destination.kind).bind(pipeline, today))
}

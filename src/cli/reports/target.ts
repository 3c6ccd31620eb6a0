import { destinationOf } from '../../destinations/index.ts'
import type { DestinationDefinition } from '../../model/pipeline.ts'

/** Returns the destination as users see it: `catalog 4001`, `audience 1nmth` or `do-not-reach list 2dnr`. */
export function targetOf(destination: DestinationDefinition): string {
  return destinationOf(destination.kind).name(destination)
}

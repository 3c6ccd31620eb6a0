import { destinationOf } from '../destinations/index.ts'
import type { DestinationKey } from '../db/destinations.ts'
import type { Pipeline } from '../model/pipeline.ts'
import type { EngineDeps } from './engine.ts'

/** Returns the key of a pipeline's destination at the service of `deps`. */
export function destinationKey(
  deps: { readonly service: Pick<EngineDeps['service'], 'origin'> },
  { destination }: Pipeline,
): DestinationKey {
  return { service: deps.service.origin, kind: destination.kind, ...destinationOf(destination.kind).identity(destination) }
}

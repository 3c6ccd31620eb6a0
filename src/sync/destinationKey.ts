import { destinationOf } from '../destinations/index.ts'
import type { DestinationKey } from '../db/destinations.ts'
import type { Pipeline } from '../model/pipeline.ts'
import type { EngineDeps } from './engine.ts'

/** Returns the address of the service, and the type and ids of the pipeline's destination. Together they identify the destination. */
export function destinationKey(
  deps: { readonly service: Pick<EngineDeps['service'], 'origin'> },
  { destination }: Pipeline,
): DestinationKey {
  return { service: deps.service.origin, kind: destination.kind, ...destinationOf(destination.kind).identity(destination) }
}

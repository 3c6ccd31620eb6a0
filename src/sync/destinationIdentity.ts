import { destinationOf } from '../destinations/index.ts'
import type { DestinationIdentity } from '../destinations/destination.ts'
import type { Pipeline } from '../model/pipeline.ts'
import type { EngineDeps } from './engine.ts'

/** Returns the identity of a pipeline's destination: origin of the service in `deps`, type, account and id. */
export function destinationIdentity(
  deps: { readonly service: Pick<EngineDeps['service'], 'origin'> },
  { destination }: Pipeline,
): DestinationIdentity & { readonly service: string; readonly kind: string } {
  return { service: deps.service.origin, kind: destination.kind, ...destinationOf(destination.kind).identity(destination) }
}

import type { Pipeline } from '../model/pipeline.ts'
import type { EngineDeps } from './engine.ts'

export interface DestinationIdentity {
  readonly service: string
  readonly kind: Pipeline['destination']['kind']
  /** Empty for catalogs: they belong to a user. */
  readonly accountId: string
  readonly targetId: string
}

/** Identity of a pipeline's destination at the service that `deps` talk to. */
export function destinationIdentity(deps: Pick<EngineDeps, 'service'>, { destination }: Pipeline): DestinationIdentity {
  const service = deps.service.origin
  switch (destination.kind) {
    case 'catalog':
      return { service, kind: 'catalog', accountId: '', targetId: destination.catalogId }
    case 'audience':
      return { service, kind: 'audience', accountId: destination.accountId, targetId: destination.audienceId }
    case 'do-not-reach':
      return { service, kind: 'do-not-reach', accountId: destination.accountId, targetId: destination.listId }
  }
}

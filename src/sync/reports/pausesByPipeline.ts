import { listPauses, type Pause } from '../../db/pauses.ts'
import type { Queryable } from '../../db/queryable.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { destinationKey } from '../destinationKey.ts'
import type { EngineDeps } from '../engine.ts'

/** Function that returns the service of a pipeline; undefined if none is configured. */
type ServiceFor = (pipeline: Pipeline) => Promise<EngineDeps['service'] | undefined>

/**
 * Returns the pause of each pipeline with a paused destination, by the name of the pipeline. Without a configured service, a pause of the
 * destination at any service counts.
 */
export async function pausesByPipeline(
  { db, serviceFor }: { readonly db: Queryable; readonly serviceFor: ServiceFor },
  pipelines: readonly Pipeline[],
): Promise<ReadonlyMap<string, Pause>> {
  const pauses = await listPauses(db)
  const byPipeline = new Map<string, Pause>()
  if (pauses.length === 0) return byPipeline
  for (const pipeline of pipelines) {
    const service = await serviceFor(pipeline)
    const pause = pauses.find(({ destination }) => {
      // Without a configured service, that of the pause is taken, so that only type and ids of the destination are compared.
      const ownKey = destinationKey({ service: service ?? { origin: destination.service } }, pipeline)
      return (['service', 'kind', 'accountId', 'targetId'] as const).every((part) => ownKey[part] === destination[part])
    })
    if (pause !== undefined) byPipeline.set(pipeline.name, pause)
  }
  return byPipeline
}

import { listPauses, type Pause } from '../../db/pauses.ts'
import type { Queryable } from '../../db/queryable.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { destinationKey } from '../destinationKey.ts'
import type { EngineDeps } from '../engine.ts'

/** Returns the service of a pipeline; undefined if the pipeline has no configured service. */
type ServiceFor = (pipeline: Pipeline) => Promise<EngineDeps['service'] | undefined>

/**
 * Returns the pause of each pipeline with a paused destination, by the current name of the pipeline. If a pipeline has no configured
 * service, returns a pause of its destination at any service.
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
      // If the pipeline has no service, that of the pause is used instead, so that only the other parts are compared.
      const own = destinationKey({ service: service ?? { origin: destination.service } }, pipeline)
      return (['service', 'kind', 'accountId', 'targetId'] as const).every((part) => own[part] === destination[part])
    })
    if (pause !== undefined) byPipeline.set(pipeline.name, pause)
  }
  return byPipeline
}

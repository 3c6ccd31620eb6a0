import type { Fence } from '../../db/fence.ts'
import { ConfigError } from '../../errors.ts'
import type { Pipeline } from '../../model/pipeline.ts'

/**
 * Returns the environment of each pipeline, by the name of the pipeline. Leaves out pipelines whose service or credentials are not
 * configured. `serviceFor`: called once for each set of credentials.
 */
export async function environmentsByPipeline(
  { serviceFor }: { readonly serviceFor: (pipeline: Pipeline) => Promise<Fence | undefined> },
  pipelines: readonly Pipeline[],
): Promise<ReadonlyMap<string, Fence>> {
  const byPipeline = new Map<string, Fence>()
  for (const group of Map.groupBy(pipelines, ({ credentials }) => credentials).values()) {
    const service = group[0] && (await serviceIfKnown(serviceFor, group[0]))
    if (service !== undefined) for (const { name } of group) byPipeline.set(name, service)
  }
  return byPipeline
}

async function serviceIfKnown(
  serviceFor: (pipeline: Pipeline) => Promise<Fence | undefined>,
  pipeline: Pipeline,
): Promise<Fence | undefined> {
  try {
    return await serviceFor(pipeline)
  } catch (error) {
    if (error instanceof ConfigError) return undefined
    throw error
  }
}

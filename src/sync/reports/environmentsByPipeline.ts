import { ConfigError } from '../../errors.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import type { ServiceIdentity } from '../engine.ts'

/**
 * Returns the environment of each pipeline, by the name of the pipeline. Leaves out pipelines whose service or credentials are not
 * configured. `serviceFor`: called once for each set of credentials.
 */
export async function environmentsByPipeline(
  { serviceFor }: { readonly serviceFor: (pipeline: Pipeline) => Promise<ServiceIdentity | undefined> },
  pipelines: readonly Pipeline[],
): Promise<ReadonlyMap<string, ServiceIdentity>> {
  const byPipeline = new Map<string, ServiceIdentity>()
  for (const group of Map.groupBy(pipelines, ({ credentials }) => credentials).values()) {
    const service = group[0] && (await serviceIfKnown(serviceFor, group[0]))
    if (service !== undefined) for (const { name } of group) byPipeline.set(name, service)
  }
  return byPipeline
}

async function serviceIfKnown(
  serviceFor: (pipeline: Pipeline) => Promise<ServiceIdentity | undefined>,
  pipeline: Pipeline,
): Promise<ServiceIdentity | undefined> {
  try {
    return await serviceFor(pipeline)
  } catch (error) {
    if (error instanceof ConfigError) return undefined
    throw error
  }
}

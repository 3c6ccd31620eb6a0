/** Registry of destination types. A further type is one file and one line here. */
import { z } from 'zod'
import type { DestinationDefinition } from '../model/pipeline.ts'
import { audience } from './audience.ts'
import { catalog } from './catalog.ts'
import type { Destination } from './destination.ts'
import { doNotReach } from './doNotReach.ts'

const builtIn = [catalog, audience, doNotReach] as const
const types: Destination[] = [...builtIn]

/** Adds a type. Must be called before the first pipeline file is checked. */
export function registerDestination(type: Destination): void {
  types.push(type)
}

/** Returns the type of a destination; undefined for an unknown kind. */
export function findDestination(kind: unknown): Destination | undefined {
  return types.find((type) => type.kind === kind)
}

/** Returns the type of a destination. @throws {RangeError} for an unknown kind */
export function destinationOf(kind: string): Destination {
  const found = findDestination(kind)
  if (found === undefined) throw new RangeError(`"${kind}" is not a type of destination`)
  return found
}

/** Returns the destination as users see it: `catalog 4001`, `audience 1nmth` or `do-not-reach list 2dnr`. */
export function destinationText(destination: DestinationDefinition): string {
  return destinationOf(destination.kind).name(destination)
}

export function destinationTypes(): readonly Destination[] {
  return types
}

/** Returns the `kind` of every type for which `matches` returns true, for queries of the table `destination`. */
export function kindsWhere(matches: (type: Destination) => boolean): string[] {
  return types.filter(matches).map(({ kind }) => kind)
}

/** Setting `destination` of a pipeline file, as users write it, without registered types. */
export type DestinationSettings = z.input<(typeof builtIn)[number]['settings']>

/** Returns the schema of `destination` for all registered types. */
export function destinationSettings(): z.ZodType<DestinationDefinition> {
  const [firstType, ...otherTypes] = types
  if (firstType === undefined) throw new RangeError('there are no types of destination')
  const kinds = `${types
    .slice(0, -1)
    .map(({ kind }) => kind)
    .join(', ')} or ${types.at(-1)?.kind}`
  return z
    .discriminatedUnion('kind', [firstType.settings, ...otherTypes.map(({ settings }) => settings)], `needs a kind: ${kinds}`)
    .pipe(z.custom<DestinationDefinition>())
}

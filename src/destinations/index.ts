/** Types of destination. A further one is one file and one line here. */
import { audience } from './audience.ts'
import { catalog } from './catalog.ts'
import type { Destination } from './destination.ts'
import { doNotReach } from './doNotReach.ts'

const types: Destination[] = [catalog, audience, doNotReach]

/** Returns the type of a destination by its `kind`. */
export function destinationOf(kind: string): Destination {
  const found = types.find((type) => type.kind === kind)
  if (found === undefined) throw new RangeError(`"${kind}" is not a type of destination`)
  return found
}

/** Returns the `kind` of every type that has a property, for queries of the table `destination`. */
export function kindsWhere(has: (type: Destination) => boolean): string[] {
  return types.filter(has).map(({ kind }) => kind)
}

/** Types of destination by name. A fourth one needs one more file and one more line here. */
import { audience } from './audience.ts'
import { catalog } from './catalog.ts'
import type { Destination } from './destination.ts'
import { doNotReach } from './doNotReach.ts'

const destinations: Readonly<Record<Destination['kind'], Destination>> = { catalog, audience, 'do-not-reach': doNotReach }

export function destinationOf(kind: Destination['kind']): Destination {
  return destinations[kind]
}

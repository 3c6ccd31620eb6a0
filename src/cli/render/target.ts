import type { DestinationDefinition } from '../../model/pipeline.ts'

/** `catalog 4001`, `audience 1nmth`, `do-not-reach list 2dnr`. */
export function targetOf(destination: DestinationDefinition): string {
  switch (destination.kind) {
    case 'catalog':
      return `catalog ${destination.catalogId}`
    case 'audience':
      return `audience ${destination.audienceId}`
    case 'do-not-reach':
      return `do-not-reach list ${destination.listId}`
  }
}

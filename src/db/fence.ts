/** Decides which environment may claim or recover a run or a batch. */

/**
 * Fence of an environment: runs and batches belong to one service, one user and one application. Every statement that claims or recovers
 * runs and batches checks the fence (docs/decisions/fence.md).
 */
export interface Fence {
  /** Address of the advertising host. */
  readonly origin: string
  /** Application and user, without any secret (`credentialsOf`). */
  readonly credentials: string
}

/**
 * Returns the SQL condition that a destination belongs to an environment. A destination without credentials belongs to every environment
 * of its service, until the first run. The arguments are SQL of the destination's id and of the fence's values.
 */
export function withinFence(destinationId: string, origin: string, credentials: string): string {
  return `exists (select from destination f where f.id = ${destinationId} and f.service = ${origin} and coalesce(f.credentials, ${credentials}) = ${credentials})`
}

/**
 * Fence of an environment: work belongs to one service, one user and one application. Every statement that claims or recovers work
 * checks it (docs/decisions/fence.md).
 */
export interface Fence {
  /** Address of the advertising host. */
  readonly origin: string
  /** Application and user, without any secret (`credentialsOf`). */
  readonly credentials: string
}

/**
 * SQL condition: the destination of this id belongs to the environment whose address and credentials are these parameters.
 * A destination without credentials belongs to the environment that runs it first.
 */
export function withinFence(destinationId: string, origin: string, credentials: string): string {
  return `exists (select from destination f where f.id = ${destinationId} and f.service = ${origin} and coalesce(f.credentials, ${credentials}) = ${credentials})`
}

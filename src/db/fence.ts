/**
 * Defines which environment may claim or recover a run or a batch. Epochs fence single workers (`batches/claim.ts`, `batches/release.ts`).
 */

/**
 * Identity of an environment: one service, one application and one user. Statements that claim or recover runs and batches check that the
 * destination belongs to this environment (docs/decisions/fence.md).
 */
export interface Fence {
  /** Address of the advertising host. */
  readonly origin: string
  /** Application and user, without any secret (`credentialsOf`). */
  readonly credentials: string
}

/** Returns a text that is equal for equal environments. */
export const environmentKey = ({ origin, credentials }: Fence): string => JSON.stringify([origin, credentials])

/**
 * Returns the SQL condition that a destination belongs to an environment. A destination without credentials, before its first run, belongs
 * to every environment of its service. The arguments are SQL of the destination's id and of the fence's values.
 */
export function withinFence(destinationId: string, origin: string, credentials: string): string {
  return `exists (select from destination f where f.id = ${destinationId} and f.service = ${origin} and coalesce(f.credentials, ${credentials}) = ${credentials})`
}

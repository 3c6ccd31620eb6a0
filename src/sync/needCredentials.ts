import { RunError } from '../errors.ts'
import type { EngineDeps } from './engine.ts'

/** @throws {RunError} `OTHER_CREDENTIALS` if the destination belongs to another user or application */
export function needCredentials(deps: Pick<EngineDeps, 'service'>, pipeline: string, credentials: string | null): void {
  if (credentials === null || credentials === deps.service.credentials) return
  throw new RunError(
    'OTHER_CREDENTIALS',
    `the destination of ${pipeline} belongs to ${credentials}, but this environment uses ${deps.service.credentials}. Nothing was sent.`,
    { where: pipeline, hint: `set the SLUICE_… credentials of that user, or move it to this one: sluice run ${pipeline} --take-over` },
  )
}

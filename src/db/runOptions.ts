/** Options of a run, and their decoder: what is stored may be of another version. */
import { recordOf } from '../unknownValue.ts'

/** Options of a run, stored with it so that any process can execute it. */
export interface RunOptions {
  /** Send everything again, not only what changed. */
  readonly full?: boolean
  /** Ceiling of deletes that a person approved. */
  readonly approveDeletes?: number
  /** One-off source of a backfill instead of the pipeline's own. */
  readonly source?: string
  /** `rerun --failed`: only what that run left failed. */
  readonly failedOnly?: boolean
  /** An audit: it reads the catalog back, and with `repair` plans what it found. Stored as a `plan`: an older worker leaves it alone. */
  readonly audit?: 'report' | 'repair'
  readonly planId?: string
  /** Requested over HTTP or from the dashboard: the first worker that is free takes it. */
  readonly anyWorker?: true
}

/** Decodes stored options. Leaves out what this version does not know, or what has another type. */
export function readOptions(stored: unknown): RunOptions {
  const { full, approveDeletes, source, failedOnly, audit, planId, anyWorker } = recordOf(stored)
  return {
    ...(typeof full === 'boolean' ? { full } : {}),
    ...(typeof approveDeletes === 'number' ? { approveDeletes } : {}),
    ...(typeof source === 'string' ? { source } : {}),
    ...(typeof failedOnly === 'boolean' ? { failedOnly } : {}),
    ...(audit === 'report' || audit === 'repair' ? { audit } : {}),
    ...(typeof planId === 'string' ? { planId } : {}),
    ...(anyWorker === true ? { anyWorker } : {}),
  }
}

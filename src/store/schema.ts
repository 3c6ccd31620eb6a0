/**
 * Every table of Sluice, in the schema `sluice`. States are CHECKed, durable times are `timestamptz` set by the
 * database's clock, digests are `bytea`. `destination_id` and `key` lead every large table's primary key, so that they
 * can be partitioned or distributed (decision 9). Generated into migrations/ by drizzle-kit.
 */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, customType, index, integer, jsonb, pgSchema, primaryKey, smallint, text, timestamp, unique, uniqueIndex } from 'drizzle-orm/pg-core'

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
const instant = (name: string) => timestamp(name, { withTimezone: true })
const now = () => sql`clock_timestamp()`

export const sluice = pgSchema('sluice')

/** Where changes go: one row for each catalog, audience or do-not-reach list of one service. */
export const destination = sluice.table('destination', {
  id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
  /** Origin of the advertising host: state of a sandbox is never taken for state of the service. */
  service: text('service').notNull(),
  kind: text('kind').notNull(),
  accountId: text('account_id').notNull().default(''),
  targetId: text('target_id').notNull(),
  /** Rises with every confirmed or refused entry: a plan made at an older version is stale. */
  stateVersion: bigint('state_version', { mode: 'number' }).notNull().default(0),
  /** Rises with every plan that changed what is wanted: what an audience suppressed by this list must look at again. */
  desiredVersion: bigint('desired_version', { mode: 'number' }).notNull().default(0),
  pausedAt: instant('paused_at'),
  pausedReason: text('paused_reason'),
  createdAt: instant('created_at').notNull().default(now()),
}, (t) => [
  unique('destination_identity').on(t.service, t.kind, t.accountId, t.targetId),
  check('destination_kind', sql`${t.kind} in ('catalog', 'audience', 'do-not-reach')`),
])

/** One process that may hold work. Its identity lets others on the same machine see that it died. */
export const worker = sluice.table('worker', {
  id: text('id').primaryKey(),
  role: text('role').notNull(),
  host: text('host').notNull(),
  /** Boot id and pid namespace: the pid means something only where both are the same. */
  hostScope: text('host_scope').notNull(),
  pid: integer('pid').notNull(),
  /** Start time of the pid in clock ticks since boot, so that a reused pid is not taken for the process. */
  pidStarted: text('pid_started').notNull(),
  concurrency: integer('concurrency').notNull().default(1),
  startedAt: instant('started_at').notNull().default(now()),
  seenAt: instant('seen_at').notNull().default(now()),
})

/** One run of a pipeline, whatever started it. `sluice plan` and `sluice apply` are runs too. */
export const run = sluice.table('run', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  pipeline: text('pipeline').notNull(),
  destinationId: integer('destination_id').references(() => destination.id),
  trigger: text('trigger').notNull(),
  status: text('status').notNull(),
  /** For scheduled runs: the tick, as an instant. */
  scheduledFor: instant('scheduled_for'),
  /** The run that this one reruns. */
  rerunOf: bigint('rerun_of', { mode: 'number' }),
  /** full, approveDeletes, source, failedOnly, reason … as given. */
  options: jsonb('options').notNull().default({}),
  planId: text('plan_id'),
  snapshotId: bigint('snapshot_id', { mode: 'number' }),
  counts: jsonb('counts').notNull().default({}),
  guards: jsonb('guards').notNull().default([]),
  warnings: jsonb('warnings').notNull().default([]),
  /** [{stage, startedAt, durationMs, rows}] */
  stages: jsonb('stages').notNull().default([]),
  /** Column names of the source, in its order: the header of `rejects --csv`. */
  columns: jsonb('columns').notNull().default([]),
  error: jsonb('error'),
  workerId: text('worker_id'),
  epoch: integer('epoch').notNull().default(0),
  leaseUntil: instant('lease_until'),
  cancelRequestedAt: instant('cancel_requested_at'),
  createdAt: instant('created_at').notNull().default(now()),
  startedAt: instant('started_at'),
  finishedAt: instant('finished_at'),
}, (t) => [
  // I21: one run a tick, however many schedulers there are.
  unique('run_tick').on(t.pipeline, t.scheduledFor),
  // One run at a time for a destination; backfills and reruns too.
  uniqueIndex('run_one_active').on(t.destinationId).where(sql`status = 'running'`),
  index('run_by_pipeline').on(t.pipeline, t.id),
  index('run_open').on(t.status).where(sql`status in ('queued', 'running')`),
  check('run_trigger', sql`${t.trigger} in ('manual', 'schedule', 'backfill', 'rerun', 'plan', 'apply')`),
  check('run_status', sql`${t.status} in ('queued', 'running', 'succeeded', 'partial', 'withheld', 'failed', 'cancelled', 'skipped')`),
  check('run_finished', sql`(${t.finishedAt} is not null) = (${t.status} not in ('queued', 'running'))`),
])

/** One reading of a pipeline's sources. Only a closed one may cause deletes (I8). */
export const snapshot = sluice.table('snapshot', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  destinationId: integer('destination_id').notNull().references(() => destination.id),
  runId: bigint('run_id', { mode: 'number' }).notNull().references(() => run.id),
  status: text('status').notNull(),
  /** SourceFacts of each source. */
  sources: jsonb('sources').notNull().default([]),
  definitionHash: text('definition_hash').notNull(),
  /** `desired_version` of the do-not-reach list that suppressed rows of it. */
  suppressionVersion: bigint('suppression_version', { mode: 'number' }).notNull().default(0),
  counts: jsonb('counts').notNull().default({}),
  openedAt: instant('opened_at').notNull().default(now()),
  closedAt: instant('closed_at'),
}, (t) => [
  check('snapshot_status', sql`${t.status} in ('open', 'closed', 'incomplete', 'discarded')`),
  check('snapshot_closed', sql`(${t.closedAt} is not null) = (${t.status} <> 'open')`),
  index('snapshot_last').on(t.destinationId, t.id),
])

/** Desired state: what the last closed snapshot says of each record, product or member. */
export const record = sluice.table('record', {
  destinationId: integer('destination_id').notNull(),
  /** Product id as UTF-8, or 16 bytes of SHA-256 over the customer key. */
  key: bytea('key').notNull(),
  /** Content: two equal hashes are the same thing to send. */
  hash: bytea('hash').notNull(),
  /** Products: the written fields as JSON. Null for members. */
  body: text('body'),
  /** Members: packed identifiers, sorted. Null for products. */
  identifiers: bytea('identifiers').array(),
  effectiveAt: instant('effective_at'),
  expiresAt: instant('expires_at'),
  line: bigint('line', { mode: 'number' }).notNull(),
  /** live: wanted. stale: its row is now invalid or a duplicate. missing: gone, kept as out of stock or kept. */
  status: text('status').notNull().default('live'),
  /** Snapshot that last changed it. */
  snapshotId: bigint('snapshot_id', { mode: 'number' }).notNull(),
}, (t) => [
  primaryKey({ name: 'record_pkey', columns: [t.destinationId, t.key] }),
  index('record_not_live').on(t.destinationId).where(sql`status <> 'live'`),
  check('record_status', sql`${t.status} in ('live', 'stale', 'missing')`),
])

/**
 * Digests of the raw records of the last closed snapshot, and the keys that they became, in chunks (performance.md,
 * gate 2). There only when every valid record has one.
 */
export const recordDigest = sluice.table(
  'record_digest',
  {
    destinationId: integer('destination_id').notNull(),
    chunk: integer('chunk').notNull(),
    /** 16 bytes each; as many as `keys`. */
    digests: bytea('digests').notNull(),
    keys: bytea('keys').array().notNull(),
    /** Positions, from 0, that a later snapshot did not hold any more. */
    gone: integer('gone').array().notNull().default(sql`'{}'`),
  },
  (t) => [primaryKey({ name: 'record_digest_pkey', columns: [t.destinationId, t.chunk] })],
)

/**
 * What we want of, and know about, each key at the service: a product id, or a packed identifier. A row lives while the
 * key is wanted (`held` > 0) or confirmed (`synced_hash` not null) or unsettled.
 */
export const remote = sluice.table('remote', {
  destinationId: integer('destination_id').notNull(),
  key: bytea('key').notNull(),
  /** Live records that carry it. 0: it is to be deleted once confirmed there (I20). */
  held: integer('held').notNull().default(0),
  /** Identifiers: the record under which it is sent, and so beside which others it stands at the service. */
  groupKey: bytea('group_key'),
  /** Content wanted, content confirmed. Identifiers: hash of their explicit times (all alike without). */
  desiredHash: bytea('desired_hash'),
  syncedHash: bytea('synced_hash'),
  /** Products: the service's product_key. */
  remoteKey: text('remote_key'),
  /** Confirmed end of the membership. */
  expiresAt: instant('expires_at'),
  /** Bytes of an ambiguous attempt may land until then: nothing newer goes before (horizon). */
  lateUntil: instant('late_until'),
  /** Rises with every planned operation. */
  generation: integer('generation').notNull().default(0),
  syncedAt: instant('synced_at'),
  /** The batch whose answer confirmed it (I1). */
  batchId: bigint('batch_id', { mode: 'number' }),
  /** Last final refusal by the service; cleared by the next confirmation. */
  refusedCode: text('refused_code'),
  refusedMessage: text('refused_message'),
}, (t) => [
  primaryKey({ name: 'remote_pkey', columns: [t.destinationId, t.key] }),
  // Only what is not as wanted: small, however large the table.
  index('remote_dirty').on(t.destinationId).where(sql`(held > 0 and desired_hash is distinct from synced_hash) or (held = 0 and synced_hash is not null)`),
  index('remote_group').on(t.destinationId, t.groupKey).where(sql`group_key is not null`),
  index('remote_late').on(t.destinationId).where(sql`late_until is not null`),
  index('remote_expiry').on(t.destinationId, t.expiresAt).where(sql`expires_at is not null`),
])

/** Frozen operations of one run, written in one transaction (I7), sent exactly as they are. */
export const plan = sluice.table('plan', {
  id: text('id').primaryKey(),
  runId: bigint('run_id', { mode: 'number' }).notNull().references(() => run.id),
  pipeline: text('pipeline').notNull(),
  destinationId: integer('destination_id').notNull().references(() => destination.id),
  snapshotId: bigint('snapshot_id', { mode: 'number' }),
  status: text('status').notNull(),
  /** `destination.state_version` it was made at. */
  stateVersion: bigint('state_version', { mode: 'number' }).notNull(),
  /** SHA-256 over all batch bodies in order: what was reviewed. */
  digest: text('digest').notNull(),
  counts: jsonb('counts').notNull(),
  guards: jsonb('guards').notNull(),
  /** Samples and reasons for people: update fields, held deletes. */
  review: jsonb('review').notNull().default({}),
  createdAt: instant('created_at').notNull().default(now()),
  appliedAt: instant('applied_at'),
}, (t) => [check('plan_status', sql`${t.status} in ('ready', 'applying', 'applied', 'superseded')`)])

/** One request: its frozen body, who holds it, what became of it. docs/states.md draws the moves. */
export const batch = sluice.table('batch', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
  planId: text('plan_id').notNull().references(() => plan.id),
  destinationId: integer('destination_id').notNull(),
  seq: integer('seq').notNull(),
  /** 1: may go at once. 2: only when every delete batch of phase 1 is settled (delete, then update). */
  phase: smallint('phase').notNull().default(1),
  operation: text('operation').notNull(),
  status: text('status').notNull().default('pending'),
  /** UTF-8 JSON as sent. Null once retention removed it. */
  body: bytea('body'),
  bodySha256: bytea('body_sha256').notNull(),
  entryCount: integer('entry_count').notNull(),
  userCount: integer('user_count').notNull(),
  parentId: bigint('parent_id', { mode: 'number' }),
  /** Earliest frozen expiry: past it the batch is cancelled and planned anew (I19). */
  expiresAt: instant('expires_at'),
  epoch: integer('epoch').notNull().default(0),
  workerId: text('worker_id'),
  leaseUntil: instant('lease_until'),
  attempts: integer('attempts').notNull().default(0),
  /** Complete answers in a row that were wrong alike (I14). */
  wrongAlike: integer('wrong_alike').notNull().default(0),
  nextAttemptAt: instant('next_attempt_at'),
  /** Code of why it is parked, refused, superseded or waiting. */
  reason: text('reason'),
  createdAt: instant('created_at').notNull().default(now()),
  settledAt: instant('settled_at'),
}, (t) => [
  unique('batch_seq').on(t.planId, t.seq),
  index('batch_open').on(t.destinationId, t.phase, t.seq).where(sql`status in ('pending', 'in_flight', 'ambiguous', 'parked')`),
  index('batch_lease').on(t.leaseUntil).where(sql`status = 'in_flight'`),
  check('batch_operation', sql`${t.operation} in ('upsert', 'delete')`),
  check('batch_status', sql`${t.status} in ('pending', 'in_flight', 'ambiguous', 'parked', 'settled', 'split', 'superseded')`),
  check('batch_lease_held', sql`(${t.status} = 'in_flight') = (${t.leaseUntil} is not null)`),
  check('batch_settled', sql`(${t.settledAt} is not null) = (${t.status} in ('settled', 'split', 'superseded'))`),
])

/** One frozen operation of a batch: a product, a product key to delete, one user. */
export const entry = sluice.table('entry', {
  batchId: bigint('batch_id', { mode: 'number' }).notNull(),
  /** Place in the body, from 0. */
  ord: integer('ord').notNull(),
  destinationId: integer('destination_id').notNull(),
  /** Record it came from; for deletes of identifiers without a record, their group. */
  recordKey: bytea('record_key').notNull(),
  /** Keys of `remote` that it decides: one product id, or a user's identifiers. */
  keys: bytea('keys').array().notNull(),
  change: text('change').notNull(),
  /** `desired_hash` that a confirmation makes `synced_hash`; null for deletes. */
  hash: bytea('hash'),
  expiresAt: instant('expires_at'),
  users: integer('users').notNull().default(1),
  /** Slice of the body: a re-cut copies it, never edits it. */
  offset: integer('byte_offset').notNull(),
  length: integer('byte_length').notNull(),
  outcome: text('outcome').notNull().default('pending'),
  code: text('code'),
  message: text('message'),
}, (t) => [
  primaryKey({ name: 'entry_pkey', columns: [t.batchId, t.ord] }),
  index('entry_record').on(t.destinationId, t.recordKey),
  check('entry_change', sql`${t.change} in ('create', 'update', 'delete', 'renewal')`),
  check('entry_outcome', sql`${t.outcome} in ('pending', 'confirmed', 'refused', 'ambiguous', 'superseded')`),
])

/** One sending of a batch: committed before the first byte leaves, finished when its answer was judged. */
export const attempt = sluice.table('attempt', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  batchId: bigint('batch_id', { mode: 'number' }).notNull(),
  runId: bigint('run_id', { mode: 'number' }).notNull(),
  epoch: integer('epoch').notNull(),
  workerId: text('worker_id').notNull(),
  bodySha256: bytea('body_sha256').notNull(),
  startedAt: instant('started_at').notNull().default(now()),
  finishedAt: instant('finished_at'),
  outcome: text('outcome'),
  httpStatus: smallint('http_status'),
  reason: text('reason'),
  /** Counts, statuses and codes of the answer; no echo, no identifiers. */
  answer: jsonb('answer'),
  answerSha256: bytea('answer_sha256'),
  durationMs: integer('duration_ms'),
}, (t) => [
  index('attempt_batch').on(t.batchId),
  index('attempt_run').on(t.runId),
  check('attempt_outcome', sql`${t.outcome} in ('confirmed', 'partial', 'refused', 'retry', 'pause', 'ambiguous')`),
])

/** A row that could not be used. Cells are masked before they get here (I17). */
export const reject = sluice.table('reject', {
  runId: bigint('run_id', { mode: 'number' }).notNull(),
  line: bigint('line', { mode: 'number' }).notNull(),
  /** Which source of the pipeline, from 0. */
  source: smallint('source').notNull().default(0),
  code: text('code').notNull(),
  field: text('field').notNull(),
  message: text('message').notNull(),
  mend: text('mend').notNull(),
  recordKey: bytea('record_key'),
  cells: jsonb('cells').notNull().default([]),
}, (t) => [index('reject_run').on(t.runId, t.source, t.line), index('reject_key').on(t.recordKey).where(sql`record_key is not null`)])

/** A pipeline's schedule as the scheduler last saw it. */
export const schedule = sluice.table('schedule', {
  pipeline: text('pipeline').primaryKey(),
  cron: text('cron').notNull(),
  timezone: text('timezone').notNull(),
  overlap: text('overlap').notNull(),
  /** The last tick that was decided, as an instant. */
  lastScheduledFor: instant('last_scheduled_for').notNull().default(now()),
  enabled: boolean('enabled').notNull().default(true),
}, (t) => [check('schedule_overlap', sql`${t.overlap} in ('skip', 'queue')`)])

/** Every tick has a line: ran, queued, skipped, coalesced into a catch-up, and why. */
export const tick = sluice.table('tick', {
  pipeline: text('pipeline').notNull(),
  scheduledFor: instant('scheduled_for').notNull(),
  outcome: text('outcome').notNull(),
  reason: text('reason'),
  runId: bigint('run_id', { mode: 'number' }),
  decidedAt: instant('decided_at').notNull().default(now()),
}, (t) => [
  primaryKey({ name: 'tick_pkey', columns: [t.pipeline, t.scheduledFor] }),
  check('tick_outcome', sql`${t.outcome} in ('ran', 'queued', 'skipped', 'missed')`),
])

/** The shared budget: head of the ring of grants of one class of limit (scale.md 3). */
export const budget = sluice.table('budget', {
  class: text('class').primaryKey(),
  granted: bigint('granted', { mode: 'number' }).notNull().default(0),
  /** Grants in a window; answer headers may lower it. */
  limit: integer('request_limit').notNull(),
  windowMs: integer('window_ms').notNull(),
  blockedUntil: instant('blocked_until'),
})

export const budgetSlot = sluice.table('budget_slot', {
  class: text('class').notNull(),
  slot: integer('slot').notNull(),
  grantedAt: instant('granted_at').notNull(),
}, (t) => [primaryKey({ name: 'budget_slot_pkey', columns: [t.class, t.slot] })])

/** Who did what, and why: every transition that a person may ask about (I25). */
export const audit = sluice.table('audit', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  at: instant('at').notNull().default(now()),
  actor: text('actor').notNull(),
  what: text('what').notNull(),
  runId: bigint('run_id', { mode: 'number' }),
  planId: text('plan_id'),
  batchId: bigint('batch_id', { mode: 'number' }),
  detail: jsonb('detail').notNull().default({}),
}, (t) => [index('audit_run').on(t.runId)])

/** Events that the service delivered, once each (I23). */
export const webhookEvent = sluice.table('webhook_event', {
  /** The event's own id, or the SHA-256 of its body. */
  id: text('id').primaryKey(),
  type: text('type').notNull(),
  body: jsonb('body').notNull(),
  receivedAt: instant('received_at').notNull().default(now()),
}, (t) => [index('webhook_event_received').on(t.receivedAt)])

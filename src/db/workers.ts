/** Writes the table `worker`: processes that may have leases. Checks if such a process is alive. */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import type { Database, Queryable } from './database.ts'
import type { DbRow } from './row.ts'
import { processExists } from './embedded/processes.ts'

export interface ProcessIdentity {
  readonly host: string
  /** Boot id and pid namespace: a pid is comparable only if both are equal. */
  readonly hostScope: string
  readonly pid: number
  /** Start of the process in clock ticks since boot; empty if unknown. */
  readonly pidStarted: string
}

/**
 * Registers this process as a worker and returns the worker's id. Each call inserts a row, so a process with two workers registers twice.
 */
export async function registerWorker(db: Database, options: { readonly role: string; readonly concurrency?: number }): Promise<string> {
  const self = identifyProcess(process.pid)
  const id = `${self.host}-${self.pid}-${randomUUID().slice(0, 8)}`
  await db.execute(`insert into worker (id, role, host, host_scope, pid, pid_started, concurrency) values ($1, $2, $3, $4, $5, $6, $7)`, [
    id,
    options.role,
    self.host,
    self.hostScope,
    self.pid,
    self.pidStarted,
    options.concurrency ?? 1,
  ])
  return id
}

/** Stores the time of a heartbeat, for display and retention. Only leases decide which process may write. */
export async function storeHeartbeat(db: Queryable, workerId: string): Promise<void> {
  await db.execute(`update worker set seen_at = statement_timestamp() where id = $1`, [workerId])
}

/** Deletes workers without a heartbeat for a week, if no batch and no running run refers to them. Returns their number. */
export async function dropOldWorkers(db: Queryable): Promise<number> {
  return db.execute(
    `delete from worker w where seen_at < statement_timestamp() - interval '7 days'
     and not exists (select from batch b where b.worker_id = w.id) and not exists (select from run r where r.worker_id = w.id and r.status = 'running')`,
  )
}

/** Registered process. */
export interface WorkerRow {
  readonly id: string
  readonly role: string
  readonly host: string
  readonly pid: number
  readonly startedAt: Date
  /** Seconds since its last heartbeat. */
  readonly idleS: number
}

/** Returns a worker by its id; undefined if there is none. */
export async function findWorker(db: Queryable, workerId: string): Promise<WorkerRow | undefined> {
  const [row] = await listWorkers(db, { id: workerId })
  return row
}

/**
 * Returns the processes of workers and servers with a heartbeat within the last day. Of more than 100, returns those with the latest
 * heartbeats. The process that started last comes first. A process with several rows, one for each set of credentials, is returned once.
 * With `id`, returns only this worker, of any role and age.
 */
export async function listWorkers(db: Queryable, only: { readonly id?: string } = {}): Promise<readonly WorkerRow[]> {
  const rows = await db.query<DbRow<'worker', 'id' | 'role' | 'host' | 'pid' | 'started_at'> & { idle_s: number }>(
    `select id, role, host, pid, started_at, extract(epoch from statement_timestamp() - seen_at)::float8 as idle_s from (
       select * from (
         select distinct on (role, host, host_scope, pid) * from worker
         where case when $1::text is null then role <> 'command' and seen_at > statement_timestamp() - interval '1 day' else id = $1 end
         order by role, host, host_scope, pid, seen_at desc) process
       order by seen_at desc limit 100) w
     order by started_at desc`,
    [only.id ?? null],
  )
  return rows.map(({ started_at, idle_s, ...row }) => ({ ...row, startedAt: started_at, idleS: idle_s }))
}

/**
 * Returns ids of workers that have ended while they had claimed a batch or run. So the batch or run can be recovered before its lease
 * expires. Checks only workers of the same machine, boot and pid namespace; on systems other than Linux, of the same host name. A worker
 * has ended if its process does not exist, or if the pid belongs to another process.
 */
export async function findEndedWorkers(db: Queryable): Promise<string[]> {
  const rows = await db.query<DbRow<'worker', 'id' | 'pid' | 'pid_started'>>(
    `select id, pid, pid_started from worker where host_scope = $1 and id in (
       select worker_id from batch where status = 'in_flight' union select worker_id from run where status = 'running')`,
    [hostScope()],
  )
  return rows.filter((row) => !isWorkerAlive({ hostScope: hostScope(), pid: row.pid, pidStarted: row.pid_started })).map((row) => row.id)
}

/** Returns false only for a process that has certainly ended. A process of another machine, boot or pid namespace counts as alive. */
export function isWorkerAlive(worker: Omit<ProcessIdentity, 'host'>): boolean {
  if (worker.hostScope !== hostScope()) return true
  const started = startOf(worker.pid)
  if (started !== undefined) return started === '' || worker.pidStarted === '' || started === worker.pidStarted
  return false
}

/** Returns the identity of a process on this machine. `pidStarted` is empty if the process does not exist. */
export function identifyProcess(pid: number): ProcessIdentity {
  return { host: hostname(), hostScope: hostScope(), pid, pidStarted: startOf(pid) ?? '' }
}

/** Returns a text for this boot and pid namespace, or for this host on systems other than Linux. */
function hostScope(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    // Systems other than Linux have no pid namespaces.
    return `host ${hostname()}`
  }
}

/** Returns the start time of a live process. Empty if the time cannot be read. Undefined if there is no such process. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the command may contain spaces and brackets, so the fields are counted after it. `fields[19]` is field 22 of the file.
    // The states Z and X are of processes that have ended.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : (fields[19] ?? '')
  } catch {
    // Linux may hide a live process of another user (`hidepid`), and other systems have no /proc.
    return processExists(pid) ? '' : undefined
  }
}

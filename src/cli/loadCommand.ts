import type { CommandRun } from './context.ts'

interface CommandModule {
  readonly run: CommandRun
}

/** Modules of the commands of the catalogue, by the words of the command. */
export const loaders: Readonly<Record<string, () => Promise<CommandModule>>> = {
  init: () => import('./commands/init/init.ts'),
  check: () => import('./commands/check/check.ts'),
  doctor: () => import('./commands/doctor/doctor.ts'),
  plan: () => import('./commands/plan.ts'),
  apply: () => import('./commands/apply.ts'),
  run: () => import('./commands/run.ts'),
  backfill: () => import('./commands/backfill.ts'),
  rerun: () => import('./commands/rerun.ts'),
  cancel: () => import('./commands/cancel.ts'),
  pause: async () => ({ run: (await import('./commands/pause.ts')).pause }),
  resume: async () => ({ run: (await import('./commands/pause.ts')).resume }),
  status: () => import('./commands/status/status.ts'),
  runs: () => import('./commands/runs.ts'),
  show: () => import('./commands/show.ts'),
  rejects: () => import('./commands/rejects/rejects.ts'),
  explain: () => import('./commands/explain.ts'),
  audit: () => import('./commands/audit.ts'),
  forget: () => import('./commands/forget.ts'),
  serve: () => import('./commands/serve.ts'),
  worker: () => import('./commands/worker.ts'),
  sandbox: () => import('./commands/sandbox/sandbox.ts'),
  'auth login': () => import('./commands/auth/login.ts'),
  'auth status': () => import('./commands/auth/status.ts'),
  'auth logout': () => import('./commands/auth/logout.ts'),
  'auth bearer': () => import('./commands/auth/bearer.ts'),
  api: () => import('./commands/api/api.ts'),
  'webhooks add': async () => ({ run: (await import('./commands/webhooks/registrations.ts')).add }),
  'webhooks list': async () => ({ run: (await import('./commands/webhooks/registrations.ts')).list }),
  'webhooks check': async () => ({ run: (await import('./commands/webhooks/registrations.ts')).check }),
  'webhooks remove': async () => ({ run: (await import('./commands/webhooks/registrations.ts')).remove }),
  'webhooks replay': () => import('./commands/webhooks/replay.ts'),
  'webhooks listen': () => import('./commands/webhooks/listen.ts'),
  'db migrate': () => import('./commands/db/migrate.ts'),
  'db status': () => import('./commands/db/status.ts'),
  'db url': () => import('./commands/db/url.ts'),
  'db adopt': () => import('./commands/db/adopt.ts'),
  'db destinations': async () => ({ run: (await import('./commands/db/destinations.ts')).list }),
  'db remove': async () => ({ run: (await import('./commands/db/destinations.ts')).remove }),
  'db stop': () => import('./commands/db/stop.ts'),
  completion: () => import('./commands/completion/completion.ts'),
  schema: () => import('./commands/schema.ts'),
  __complete: () => import('./commands/completion/complete.ts'),
  demo: () => import('./commands/demo/demo.ts'),
}

/** Loads the module of one command, so that the command starts without the modules of the others. */
export async function loadCommand(path: readonly string[]): Promise<CommandRun> {
  const load = loaders[path.join(' ')]
  if (load === undefined) throw new Error(`${path.join(' ')} has nothing to run`)
  return (await load()).run
}

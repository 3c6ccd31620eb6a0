/** A process with scheduler, worker or both, as `serve` and `worker` compose them. Arguments: role, database, sandbox, pipelines. */
import { serve, startWorker, type JobDeps } from '../../../src/jobs/index.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { fixedCredentials } from '../../../src/sandbox/start.ts'
import { createTransport } from '../../../src/service/client/index.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { engineDeps } from '../push/planted.ts'

const [role, databaseUrl = '', sandboxUrl = '', pipelines = ''] = process.argv.slice(2)
const db = openDatabase(databaseUrl)
const transport = createTransport({ baseUrl: sandboxUrl, adsBaseUrl: sandboxUrl, adsVersion: '12', ...fixedCredentials })
const stop = new AbortController()
const deps: JobDeps = {
  ...(await engineDeps(db, transport)),
  service: { origin: sandboxUrl, version: '12' },
  signal: stop.signal,
  loadPipeline: (name) => loadPipeline(pipelines, name),
  loadPipelines: async () => (await loadPipelines(pipelines)).pipelines,
}
const running = role === 'worker' ? await startWorker(deps) : await serve(deps)
process.stdout.write('up\n')
await new Promise((resolve) => process.once('SIGTERM', resolve))
stop.abort()
await running.stop()
await transport.close()
await db.close()

/** A process with scheduler, worker or both, as `serve` and `worker` compose them. Arguments: role, database, sandbox, pipelines, schema. */
import { serve, startWorker, type JobDeps } from '../../../src/jobs/index.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { fixedCredentials } from '../../../src/sandbox/area.ts'
import { createTransport } from '../../../src/service/client/index.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { testService } from '../../support/service.ts'
import { engineDeps } from '../push/planted.ts'

const [role, databaseUrl = '', sandboxUrl = '', pipelines = '', schema] = process.argv.slice(2)
const db = openDatabase(databaseUrl, schema === undefined ? {} : { schema })
const transport = createTransport({ baseUrl: sandboxUrl, adsBaseUrl: sandboxUrl, adsVersion: '12', ...fixedCredentials })
const stop = new AbortController()
const deps: JobDeps = {
  ...(await engineDeps(db, transport)),
  service: { ...testService, origin: sandboxUrl },
  signal: stop.signal,
  loadPipeline: (name) => loadPipeline(pipelines, name),
  loadPipelines: () => loadPipelines(pipelines),
  folder: pipelines,
}
const running = role === 'worker' ? await startWorker(deps) : await serve(deps)
process.stdout.write('up\n')
await new Promise((resolve) => process.once('SIGTERM', resolve))
stop.abort()
await running.stop()
await transport.close()
await db.close()

import { loadConfig, type Environment } from '../../../config/config.ts'
import { openDatabase } from '../../../db/database.ts'
import { embeddedUrl } from '../../../db/embedded/server.ts'
import { pipelineFiles, pipelineNameOf } from '../../../pipeline/files.ts'
import { newestRuns, type RunChoice } from '../../../sync/reports/history.ts'
import { catalogue } from '../../commandLine/catalogue.ts'
import { positionOf, type Candidate, type Position } from './position.ts'
import { listArgument, type CommandRun } from '../../context.ts'

/** Timeout of the database in milliseconds, because the user waits for the completion. */
const databaseMs = 1500

/** Prints the candidates for the last word, one `WORD TAB MEANING` per line; or `:files` or `:directories`. Prints no errors. */
export const run: CommandRun = async (context, invocation) => {
  const position = positionOf(catalogue, listArgument(invocation, 0))
  const { expected, typed, prefix } = position
  if (expected.kind === 'files' || expected.kind === 'directories') context.stdout.write(`:${expected.kind}\n`)
  try {
    for (const { word, meaning } of await candidatesAt(position, context.env))
      if (word.startsWith(typed) && !/[\t\n]/.test(word)) context.stdout.write(`${prefix}${word}${meaning === '' ? '' : `\t${meaning}`}\n`)
  } catch {
    // The folder or the database is missing, or .env is invalid. An error message would disturb the command line.
  }
  return 0
}

/** Loads the candidates of a position. Connects to the database only for the ids of runs and plans. */
async function candidatesAt({ expected, ...flags }: Position, env: Environment): Promise<readonly Candidate[]> {
  switch (expected.kind) {
    case 'words':
      return expected.words
    case 'pipelines': {
      const folder = flags.pipelines.replace(/^~(?=\/|$)/, env['HOME'] ?? '~')
      return (await pipelineFiles(folder)).map((file) => ({ word: pipelineNameOf(file), meaning: '' }))
    }
    case 'runs':
      return (await readNewestRuns(flags, env)).map(runCandidate)
    case 'plans':
      return (await readNewestRuns(flags, env)).flatMap(planCandidates)
    case 'runs and plans':
      return (await readNewestRuns(flags, env)).flatMap((run) => [runCandidate(run), ...planCandidates(run)])
    default:
      return []
  }
}

function runCandidate({ id, pipeline, status }: RunChoice): Candidate {
  return { word: id, meaning: `${pipeline}, ${status}` }
}

function planCandidates({ planId, pipeline, status }: RunChoice): Candidate[] {
  return planId === null ? [] : [{ word: planId, meaning: `plan of ${pipeline}, ${status}` }]
}

/** Reads the 20 newest runs; none if the embedded server does not run or the database does not answer in time. */
async function readNewestRuns({ database }: Pick<Position, 'database'>, env: Environment): Promise<readonly RunChoice[]> {
  const config = loadConfig(env, { database })
  const url = config.databaseUrl?.reveal() ?? (await embeddedUrl(config.dataDir))
  if (url === undefined) return []
  const db = openDatabase(url, { schema: config.schema, applicationName: 'sluice completion', maxConnections: 1 })
  const tooLate = new Promise<readonly RunChoice[]>((resolve) => void setTimeout(resolve, databaseMs, []).unref())
  try {
    return await Promise.race([newestRuns(db, 20), tooLate])
  } finally {
    void db.close().catch(() => undefined)
  }
}

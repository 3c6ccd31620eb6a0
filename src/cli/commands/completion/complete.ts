import { loadConfig, type Environment } from '../../../config/config.ts'
import { openDatabase } from '../../../db/database.ts'
import { embeddedUrl } from '../../../db/embedded/server.ts'
import { pipelineFiles, pipelineNameOf } from '../../../pipeline/files.ts'
import { newestRuns, type RunLine } from '../../../sync/history.ts'
import { catalogue } from '../../commandLine/catalogue.ts'
import { positionOf, type Candidate, type Position } from './position.ts'
import { list, type CommandRun } from '../../context.ts'

/** Timeout of the database in milliseconds; completion must not wait longer. */
const databaseMs = 1500

/** Prints the candidates for the last word: a line `WORD TAB MEANING` each, or `:files`, `:directories`. Silent on errors. */
export const run: CommandRun = async (context, invocation) => {
  const position = positionOf(catalogue, list(invocation, 0))
  const { expected, typed, prefix } = position
  if (expected.kind === 'files' || expected.kind === 'directories') context.stdout.write(`:${expected.kind}\n`)
  try {
    for (const { word, meaning } of await candidatesAt(position, context.env))
      if (word.startsWith(typed) && !/[\t\n]/.test(word)) context.stdout.write(`${prefix}${word}${meaning === '' ? '' : `\t${meaning}`}\n`)
  } catch {
    // Without a folder, a database or a valid .env there are no candidates. An error message would disturb the command line.
  }
  return 0
}

/** Loads the candidates of a position: from the catalogue, the folder of pipelines or the newest runs. Connects only for ids. */
async function candidatesAt({ expected, ...flags }: Position, env: Environment): Promise<readonly Candidate[]> {
  switch (expected.kind) {
    case 'words':
      return expected.words
    case 'pipelines': {
      const folder = flags.pipelines.replace(/^~(?=\/|$)/, env['HOME'] ?? '~')
      return (await pipelineFiles(folder)).map((file) => ({ word: pipelineNameOf(file), meaning: '' }))
    }
    case 'runs':
      return (await runs(flags, env)).map(runCandidate)
    case 'plans':
      return (await runs(flags, env)).flatMap(planCandidates)
    case 'runs and plans':
      return (await runs(flags, env)).flatMap((run) => [runCandidate(run), ...planCandidates(run)])
    default:
      return []
  }
}

function runCandidate({ id, pipeline, status }: RunLine): Candidate {
  return { word: id, meaning: `${pipeline}, ${status}` }
}

function planCandidates({ planId, pipeline, status }: RunLine): Candidate[] {
  return planId === null ? [] : [{ word: planId, meaning: `plan of ${pipeline}, ${status}` }]
}

/** Reads the newest runs from a database that is already running. Never starts the embedded server. */
async function runs({ database }: Pick<Position, 'database'>, env: Environment): Promise<readonly RunLine[]> {
  const config = loadConfig(env, { database })
  const url = config.databaseUrl?.reveal() ?? (await embeddedUrl(config.dataDir))
  if (url === undefined) return []
  const db = openDatabase(url, { schema: config.schema, applicationName: 'sluice completion', maxConnections: 1 })
  const tooLate = new Promise<readonly RunLine[]>((resolve) => void setTimeout(resolve, databaseMs, []).unref())
  try {
    return await Promise.race([newestRuns(db, 20), tooLate])
  } finally {
    void db.close().catch(() => undefined)
  }
}

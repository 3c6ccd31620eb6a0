import { existsSync, mkdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { UsageError } from '../../errors.ts'
import { pipelineJsonSchema } from '../../pipeline/jsonSchema.ts'
import { loadPipelines } from '../../pipeline/load.ts'
import { writeJson, type CommandRun, type Context } from '../context.ts'
import type { Target } from '../init/draft.ts'
import { writeEnvironment } from '../init/environment.ts'
import { pipelineText } from '../init/pipelineText.ts'
import { insisting, looked, settled, withSource, withTarget } from '../init/questions.ts'
import { report, told } from '../init/report.ts'
import { callOf, nameFrom, wishesOf, type Wishes } from '../init/wishes.ts'
import { canAsk, openPrompt } from '../prompt.ts'
import { writeWholeFile } from '../../wholeFile.ts'

/**
 * From a file that nobody described to a pipeline that `check` accepts: looks at the source, asks a person what only a
 * person knows (and anybody else for the flags), and writes the pipeline file and `.env`. Nothing is written before all
 * of it is known, and no file is replaced unless `--force` says so. Sends nothing, needs no database.
 */
export const run: CommandRun = async (context, invocation) => {
  const prompt = canAsk(context) ? openPrompt(context) : undefined
  const ask = prompt === undefined ? undefined : insisting(prompt)
  try {
    const named = await withSource(wishesOf(invocation), ask)
    const name = named.name ?? nameFrom(named.source)
    const file = freePath(context, name, named)
    const { look, wishes: read } = await looked(context, named, ask)
    const { wishes, target } = await withTarget(context, read, look, { name, file }, ask)
    await checkConflicts(context, target, wishes)
    const draft = await settled(look, target, wishes, ask)
    mkdirSync(context.pipelines, { recursive: true })
    // Whatever came there meanwhile is not replaced either.
    writeWholeFile(file, pipelineText(draft, look, writeSchema(context)), { exclusive: !wishes.force })
    const env = writeEnvironment(context, wishes)
    if (context.json) writeJson(context, report(draft, look, env))
    else context.stdout.write(told(draft, look, env, { sandbox: wishes.sandbox, columns: context.stdout.columns }))
    return 0
  } finally {
    prompt?.close()
  }
}

/** Writes the schema of pipeline files into the data folder. Returns its path as a pipeline file names it. */
function writeSchema(context: Context): string {
  const { dataDir } = context.config()
  mkdirSync(dataDir, { recursive: true })
  const file = join(dataDir, 'pipeline.schema.json')
  writeWholeFile(file, `${JSON.stringify(pipelineJsonSchema(), null, 2)}\n`)
  return relative(context.pipelines, file).replaceAll('\\', '/')
}

/** A name is taken by a file of any ending, because each would be the pipeline of that name. */
function freePath(context: Context, name: string, wishes: Wishes): string {
  const file = join(context.pipelines, `${name}.yaml`)
  const taken = ['.yaml', '.yml', '.json', '.ts', '.mts']
    .map((ending) => join(context.pipelines, `${name}${ending}`))
    .find((path) => existsSync(path))
  if (taken === undefined || (wishes.force && taken === file)) return file
  throw new UsageError('FILE_EXISTS', `${taken} is there already. Nothing was written.`, {
    where: taken,
    hint:
      taken === file
        ? `${callOf({ ...wishes, force: true }, [])}   (replaces it), or another NAME`
        : callOf({ ...wishes, name: 'NAME' }, []),
  })
}

/** Two files with one destination refuse each other (`check`), so the second is not even written. */
async function checkConflicts(context: Context, target: Target, wishes: Wishes): Promise<void> {
  if (!existsSync(context.pipelines)) return
  const { pipelines, conflicting } = await loadPipelines(context.pipelines, context.config().env)
  const conflict = [...pipelines, ...conflicting].find(
    ({ name, destination }) =>
      name !== target.name &&
      destination.kind === target.kind &&
      (destination.kind === 'catalog'
        ? destination.catalogId === target.target
        : destination.accountId === target.account &&
          (destination.kind === 'audience' ? destination.audienceId : destination.listId) === target.target),
  )
  if (conflict === undefined) return
  throw new UsageError(
    'DESTINATION_TAKEN',
    `${conflict.file} writes to ${target.kind} ${target.target} already: each would delete what the other sends. Nothing was written.`,
    {
      where: conflict.file,
      hint: `${callOf({ ...wishes, target: undefined, kind: undefined }, [`--${target.kind} ID`])}   (another one)`,
    },
  )
}

import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { UsageError } from '../../../errors.ts'
import { pipelineJsonSchema } from '../../../pipeline/jsonSchema.ts'
import { makeFolder } from '../../../makeFolder.ts'
import { loadPipelines } from '../../../pipeline/load.ts'
import { writeJson, type CommandRun, type Context } from '../../context.ts'
import type { Target } from './draft.ts'
import { writeEnvironment } from './environment.ts'
import { pipelineText } from './pipelineText.ts'
import { requireAnswers, inspectWithAnswers, completeDraft, chooseSource, chooseTarget } from './prompts.ts'
import { reportDocument, reportText } from './report.ts'
import { commandLineOf, nameFrom, initOptionsOf, type InitOptions } from './options.ts'
import { canAsk, openPrompt } from '../../terminal/prompt.ts'
import { writeWholeFile } from '../../wholeFile.ts'
import { destinationOf } from '../../../destinations/index.ts'
import { isDeepStrictEqual } from 'node:util'

/**
 * Inspects a source, then writes its pipeline file, `.env` and the JSON Schema for editors. On a terminal, asks for missing values.
 * Elsewhere, fails with the flags that set them. Writes nothing before all values are known, and replaces a pipeline file only with
 * `--force`. Sends nothing and needs no database.
 */
export const run: CommandRun = async (context, invocation) => {
  const prompt = canAsk(context) ? openPrompt(context) : undefined
  const ask = prompt === undefined ? undefined : requireAnswers(prompt)
  try {
    const named = await chooseSource(initOptionsOf(invocation), ask)
    const name = named.name ?? nameFrom(named.source)
    const file = freePath(context, name, named)
    const { inspection, options: read } = await inspectWithAnswers(context, named, ask)
    const { options, target } = await chooseTarget(context, read, inspection, { name, file }, ask)
    await checkConflicts(context, target, options)
    const draft = await completeDraft(inspection, target, options, ask)
    makeFolder(context.pipelines)
    // `exclusive` fails if the file was created after `freePath`.
    writeWholeFile(file, pipelineText(draft, inspection, writeSchema(context)), { exclusive: !options.force })
    const env = writeEnvironment(context, options)
    if (context.json) writeJson(context, reportDocument(draft, inspection, env))
    else context.stdout.write(reportText(draft, inspection, env, { sandbox: options.sandbox, output: context.stdout }))
    return 0
  } finally {
    prompt?.close()
  }
}

/** Writes the schema of pipeline files into the data folder. Returns its path relative to the pipeline files. */
function writeSchema(context: Context): string {
  const { dataDir } = context.config()
  makeFolder(dataDir)
  const file = join(dataDir, 'pipeline.schema.json')
  writeWholeFile(file, `${JSON.stringify(pipelineJsonSchema(), null, 2)}\n`)
  return relative(context.pipelines, file).replaceAll('\\', '/')
}

/**
 * Returns the path of the new pipeline file.
 *
 * @throws {UsageError} `FILE_EXISTS` if a pipeline has this name, also with another file ending. With `--force`, the same file may exist.
 */
function freePath(context: Context, name: string, options: InitOptions): string {
  const file = join(context.pipelines, `${name}.yaml`)
  const existing = ['.yaml', '.yml', '.json', '.ts', '.mts']
    .map((ending) => join(context.pipelines, `${name}${ending}`))
    .find((path) => existsSync(path))
  if (existing === undefined || (options.force && existing === file)) return file
  throw new UsageError('FILE_EXISTS', `${existing} exists already. Nothing was written.`, {
    where: existing,
    hint:
      existing === file
        ? `${commandLineOf({ ...options, force: true }, [])}   (replaces it), or another NAME`
        : commandLineOf({ ...options, name: 'NAME' }, []),
  })
}

/** Checks that no other pipeline without `credentials:` has the same destination. @throws {UsageError} `DESTINATION_TAKEN` */
async function checkConflicts(context: Context, target: Target, options: InitOptions): Promise<void> {
  if (!existsSync(context.pipelines)) return
  const { pipelines, conflicting } = await loadPipelines(context.pipelines, context.config().env)
  const conflict = [...pipelines, ...conflicting].find(
    ({ name, credentials, destination }) =>
      name !== target.name &&
      credentials === undefined &&
      destination.kind === target.kind &&
      isDeepStrictEqual(destinationOf(destination.kind).identity(destination), {
        accountId: target.account ?? '',
        targetId: target.targetId,
      }),
  )
  if (conflict === undefined) return
  throw new UsageError(
    'DESTINATION_TAKEN',
    `${conflict.file} already writes to ${target.kind} ${target.targetId}: each would delete what the other sends. Nothing was written.`,
    {
      where: conflict.file,
      hint: `${commandLineOf({ ...options, targetId: undefined, kind: undefined }, [`--${target.kind} ID`])}   (another destination)`,
    },
  )
}

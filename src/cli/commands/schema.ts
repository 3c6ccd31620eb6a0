import { dirname } from 'node:path'
import { makeFolder } from '../../makeFolder.ts'
import { pipelineJsonSchema, projectJsonSchema } from '../../pipeline/jsonSchema.ts'
import { argument, option, writeJson, type CommandRun } from '../context.ts'
import { writeWholeFile } from '../wholeFile.ts'

/** Prints the JSON Schema of pipeline files or of sluice.yaml, or writes it to a file. */
export const run: CommandRun = async (context, invocation) => {
  const schema = argument(invocation, 0) === 'project' ? projectJsonSchema() : pipelineJsonSchema()
  const text = `${JSON.stringify(schema, null, 2)}\n`
  const file = option(invocation, 'out')
  if (file === undefined) {
    context.stdout.write(text)
    return 0
  }
  makeFolder(dirname(file))
  writeWholeFile(file, text)
  if (context.json) writeJson(context, { file })
  else context.stderr.write(`wrote ${file}\n`)
  return 0
}

import { needService } from '../../config/config.ts'
import { explainKey, type StoryEvent } from '../../sync/explain.ts'
import { argument, writeJson, type CommandRun } from '../context.ts'
import { pipelineNamed } from '../pipelines.ts'
import { withStore } from '../store.ts'
import { cut, fold, instant, safe } from '../text.ts'
import { waiting } from '../waiting.ts'

/** Why is it not there? The answer in the first line, then the record's whole story. KEY is never shown or logged. */
export const run: CommandRun = async (context, invocation) => {
  const pipeline = await pipelineNamed(context, argument(invocation, 0))
  const service = needService(context.config(), { user: false })
  return withStore(context, async (store) => {
    const deps = { db: store.db, service: { origin: new URL(service.adsBaseUrl).origin, version: service.adsVersion } }
    const story = await waiting(context, 'looking through what was sent', () => explainKey(deps, pipeline, argument(invocation, 1)))
    if (context.json) writeJson(context, story.events)
    else {
      const { bold } = context.stdout.style
      context.stdout.write(
        `${fold(bold(safe(story.headline)), context.stdout.columns)}\n${story.events.map((event) => eventLines(event, context.stdout.columns)).join('')}`,
      )
    }
    return 0
  })
}

function eventLines(event: StoryEvent, columns: number | undefined): string {
  const fit = (line: string) => `${columns === undefined ? line : cut(line, columns)}\n`
  const whole = (line: string) => `${fold(line, columns)}\n`
  const facts = [
    ...(event.runId === undefined ? [] : [event.runId]),
    ...(event.planId === undefined ? [] : [event.planId]),
    ...(event.batch === undefined ? [] : [`batch ${event.batch}`]),
    ...(event.httpStatus === undefined ? [] : [`HTTP ${event.httpStatus}`]),
    ...(event.code === undefined ? [] : [event.code]),
    ...(event.expiresAt === undefined ? [] : [`until ${instant(event.expiresAt)}`]),
  ]
  const head = whole(
    `${instant(event.at)}  ${event.what.padEnd(9)}  ${safe(event.message)}${facts.length === 0 ? '' : `   ${facts.join(' · ')}`}`,
  )
  const indent = ' '.repeat(22)
  return (
    head +
    (event.value === undefined ? '' : fit(`${indent}${safe(event.value)}`)) +
    (event.digest === undefined ? '' : fit(`${indent}sha256 ${event.digest}`)) +
    (event.mend === undefined || event.mend === '' ? '' : whole(`${indent}mend: ${safe(event.mend)}`))
  )
}

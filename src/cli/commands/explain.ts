import { explainKey } from '../../sync/reports/explain.ts'
import type { IdentifierDigest, RecordHistory, RecordEvent } from '../../sync/reports/recordHistory.ts'
import { argument, writeJson, type CommandRun, type Output } from '../context.ts'
import { pipelineNamed } from '../pipelines.ts'
import { identityOf } from '../services.ts'
import { withStore } from '../store.ts'
import { cut, fold, hintText, instant, safe } from '../terminal/text.ts'
import { waiting } from '../terminal/waiting.ts'

/** Shows whether the record is live and why, then its history. An email or phone number given as KEY is never shown or logged. */
export const run: CommandRun = async (context, invocation) => {
  const pipeline = await pipelineNamed(context, argument(invocation, 0))
  const service = await identityOf(context, pipeline)
  return withStore(context, async (store) => {
    const deps = { db: store.db, service }
    const history = await waiting(context, 'reading the history', () => explainKey(deps, pipeline, argument(invocation, 1)))
    if (context.json) writeJson(context, [statusEvent(history, context.clock.now()), ...history.events])
    else {
      const { bold } = context.stdout.style
      context.stdout.write(
        `${fold(bold(safe(history.headline)), context.stdout.columns)}\n${hintLine(history, context.stdout)}${keyLines(history, context.stdout.columns)}${history.events.map((event) => eventLines(event, context.stdout.columns)).join('')}`,
      )
    }
    return 0
  })
}

/** Returns the first event of `--json`. It has the same facts as the lines above the history in the text. */
function statusEvent({ headline, hint, live, keys, identifiers }: RecordHistory, now: number) {
  const at = new Date(now).toISOString()
  return { at, what: 'status', message: headline, ...(hint === undefined ? {} : { hint }), live, key: keys[0] ?? null, keys, identifiers }
}

function hintLine({ hint }: RecordHistory, output: Output): string {
  return hint === undefined ? '' : `${fold(`  hint: ${safe(hintText(hint, output))}`, output.columns)}\n`
}

function keyLines({ keys, identifiers }: RecordHistory, columns: number | undefined): string {
  return keys.map((key) => `${fold(`  key    ${safe(key)}`, columns)}\n`).join('') + digestLines(identifiers, columns)
}

/** Formats a line for each identifier that has a digest. Lines are folded and never cut, so that a digest can be copied. */
function digestLines(identifiers: readonly IdentifierDigest[], columns: number | undefined): string {
  return identifiers
    .flatMap(({ type, digest }) => (digest === undefined ? [] : [`${fold(`  sha256 ${digest} ${type}`, columns)}\n`]))
    .join('')
}

/** Formats an event: time, message and facts, then value, content hash, digests and hint, each on its own line. */
function eventLines(event: RecordEvent, columns: number | undefined): string {
  const cutLine = (line: string) => `${cut(line, columns)}\n`
  const foldLine = (line: string) => `${fold(line, columns)}\n`
  const facts = [
    ...(event.runId === undefined ? [] : [event.runId]),
    ...(event.planId === undefined ? [] : [event.planId]),
    ...(event.batch === undefined ? [] : [`batch ${event.batch}`]),
    ...(event.httpStatus === undefined ? [] : [`HTTP ${event.httpStatus}`]),
    ...(event.code === undefined ? [] : [event.code]),
    ...(event.expiresAt === undefined ? [] : [`until ${instant(event.expiresAt)}`]),
  ]
  const head = foldLine(
    `${instant(event.at)}  ${event.what.padEnd(9)}  ${safe(event.message)}${facts.length === 0 ? '' : `   ${facts.join(' · ')}`}`,
  )
  const indent = ' '.repeat(22)
  return (
    head +
    (event.value === undefined ? '' : cutLine(`${indent}${safe(event.value)}`)) +
    (event.contentHash === undefined ? '' : cutLine(`${indent}content hash ${event.contentHash}`)) +
    digestLines(event.identifiers ?? [], columns) +
    (event.hint === undefined || event.hint === '' ? '' : foldLine(`${indent}hint: ${safe(event.hint)}`))
  )
}

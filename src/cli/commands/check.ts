import { parseCount } from '../parseCount.ts'
import { SluiceError } from '../../errors.ts'
import type { Pipeline, SourceDefinition } from '../../pipeline/definition.ts'
import { identifierTypes, type MappedRecord, type PackedIdentifier, type Reject, type Row, type Warning } from '../../records/record.ts'
import { createMapper, type DescribingMapper } from '../../records/createMapper.ts'
import { openSource } from '../../sources/openSource.ts'
import { guardRejects } from '../../sync/plan/guard.ts'
import { guardNotes } from '../../sync/plan/qualityGuard.ts'
import type { GuardVerdict, WarningSummary } from '../../sync/report.ts'
import { watchMapper } from '../../sync/read/sourceQuality.ts'
import { list, option, writeJson, type CommandRun, type Context } from '../context.ts'
import { pipelinesToCheck } from '../pipelines.ts'
import { errorLines, presentError, type PresentedError } from '../present.ts'
import { detectedWords } from '../render/detected.ts'
import { groupRejects } from '../render/rejects.ts'
import { targetOf } from '../render/target.ts'
import { shownAddress } from '../text.ts'
import { waiting } from '../waiting.ts'
import { againLine, checkReport, nextStep, type Check, type SampleRecord, type SourceCheck } from '../render/check.ts'

const sampleSize = 3

/** Validates the definitions, reads the first rows of each source, maps them. Sends nothing, needs no database. */
export const run: CommandRun = async (context, invocation) => {
  const limit = parseCount('--rows', option(invocation, 'rows') ?? '200', { min: 1, max: 1_000_000_000 })
  const { pipelines, errors } = await pipelinesToCheck(context, list(invocation, 0))
  const checks: Check[] = []
  for (const pipeline of pipelines) {
    const sources: SourceCheck[] = []
    for (const source of pipeline.sources)
      sources.push(await waiting(context, 'reading the source', () => checkSource(context, pipeline, source, limit)))
    const check: Check = { pipeline: pipeline.name, file: pipeline.file, destination: targetOf(pipeline.destination), sources }
    checks.push(check)
    if (!context.json) context.stdout.write(checkReport(check, context.stdout))
  }
  const failed = checks.flatMap((check) => check.sources.flatMap((source) => (source.error ? [source.error] : [])))
  const wrong = errors.map((error) => presentError(error, context.config().secrets))
  if (context.json) writeJson(context, wrong.length === 0 ? checks : checks.map((check) => withProblems(check, wrong)))
  else {
    for (const error of [...failed, ...wrong]) context.stdout.write(errorLines(error))
    if (failed.length + wrong.length === 0) context.stdout.write(nextStep(checks))
    else context.stdout.write(againLine(checks))
  }
  return wrong.length > 0 ? 2 : failed.length > 0 ? 1 : 0
}

/** What is against running it, although its own file is right. */
function withProblems(check: Check, errors: readonly PresentedError[]): Check {
  const problems = errors.flatMap((error) => (error.where !== null && check.file.endsWith(error.where) ? (error.problems ?? []) : []))
  return problems.length === 0 ? check : { ...check, problems }
}

async function checkSource(context: Context, pipeline: Pipeline, definition: SourceDefinition, limit: number): Promise<SourceCheck> {
  const config = context.config()
  const records: SampleRecord[] = []
  const rejects: Reject[] = []
  const warnings: Warning[] = []
  let rows = 0
  let valid = 0
  let suppressed = 0
  let columns: readonly string[] = []
  let detected: readonly string[] = []
  let whole = false
  let error: PresentedError | undefined
  let mapping: ReturnType<DescribingMapper['describe']> | undefined
  let holds: readonly GuardVerdict[] = []
  try {
    const plain = createMapper(pipeline, new Date(context.clock.now()))
    const mapper = watchMapper(plain)
    const source = await openSource(definition, { env: config.env, log: context.log(), signal: context.signal })
    try {
      whole = true
      if (source.detected) detected = detectedWords(source.detected)
      reading: for await (const batch of source.rows) {
        for (const row of batch) {
          if (row.columns !== columns && rows === 0) {
            columns = row.columns
            mapping = plain.describe(columns)
            warnings.push(...mapper.start(columns, definition.uri))
          }
          if (rows === limit) {
            whole = false
            break reading
          }
          rows++
          const mapped = mapper.map(row)
          warnings.push(...mapped.warnings)
          if (mapped.reject) rejects.push(mapped.reject)
          if (mapped.record) {
            if (mapped.record.kind === 'member' && !mapped.record.wanted) suppressed++
            else valid++
            if (records.length < sampleSize) records.push(sample(mapped.record, row, mapper.mask(row)))
          }
        }
      }
      if (whole) {
        const facts = source.facts()
        // A header without rows is judged as well.
        if (rows === 0 && facts.columns.length > 0) {
          columns = facts.columns
          mapping = plain.describe(columns)
          warnings.push(...mapper.start(columns, definition.uri))
        }
        const { warnings: notes } = mapper.finish(facts, undefined)
        warnings.push(...notes.map(({ code, field, message, lines }) => ({ code, field, message, line: lines[0] ?? 0 })))
        const tooMany = guardRejects({ guards: pipeline.guards, read: rows, rejected: rejects.length, pipeline: pipeline.name })
        // What to mend stands with the most frequent reject, not in another check.
        if (tooMany) holds = [{ ...tooMany, mend: groupRejects(rejects)[0]?.mend ?? tooMany.mend }]
        detected = [
          ...detected,
          ...(facts.notes ?? []).filter((note) => !detected.includes(note)),
          facts.completeness.complete ? `end proven: ${facts.completeness.proof}` : `end not proven: ${facts.completeness.reason ?? ''}`,
        ]
      }
    } finally {
      await source.close()
    }
  } catch (cause) {
    if (!(cause instanceof SluiceError)) throw cause
    error = presentError(cause, config.secrets)
  }
  const summaries = warnings.map(({ code, field, message, line }) => ({ code, field, message, count: 1, lines: [line] }))
  return {
    uri: shownAddress(definition.uri),
    detected,
    columns,
    ...(mapping === undefined ? {} : { mapping }),
    rows,
    valid,
    suppressed,
    holds: [...holds, ...guardNotes(pipeline, onePerCode(summaries))].map(({ code, message, mend }) => ({ code, message, mend })),
    whole,
    records,
    warnings,
    rejects: rejects.map(({ line, code, field, message, mend }) => ({ line, code, field, message, mend })),
    ...(error ? { error } : {}),
  }
}

/** A run tells each of them once, whatever the number of rows. */
function onePerCode(warnings: readonly WarningSummary[]): readonly WarningSummary[] {
  return [...new Map(warnings.map((warning) => [`${warning.code} ${warning.field}`, warning] as const)).values()]
}

function sample(record: MappedRecord, row: Row, masked: readonly string[]): SampleRecord {
  if (record.kind === 'product') {
    const fields: unknown = JSON.parse(record.json)
    // `json` is an object of product fields by its own contract (ProductRecord).
    return { line: record.line, fields: fields as Record<string, unknown> }
  }
  const fields = Object.fromEntries(row.columns.map((column, i) => [column, masked[i] ?? '']).filter(([, value]) => value !== ''))
  return { line: record.line, fields, identifiers: record.identifiers.map(describeIdentifier), wanted: record.wanted }
}

/** A digest is personal data too: its beginning is enough to compare by. A partner's own number is masked. */
function describeIdentifier(packed: PackedIdentifier): { readonly type: string; readonly value: string } {
  const type = identifierTypes[(packed[0] ?? 0) - 1] ?? 'unknown'
  return {
    type,
    value: type === 'partner_user_id' ? `${packed.subarray(1, 2).toString()}***` : `${packed.subarray(1, 7).toString('hex')}…`,
  }
}

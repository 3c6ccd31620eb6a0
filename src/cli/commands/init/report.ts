import { fieldsText, presetText } from '../../reports/check.ts'
import { groupRejects } from '../../reports/rejects.ts'
import { destinationText } from '../../../destinations/index.ts'
import { shownAddress } from '../../../shownAddress.ts'
import { count, fold, hintText, plural, safe } from '../../terminal/text.ts'
import type { Output } from '../../context.ts'
import { inPipelineKeys } from '../../../mapping/consent/consentText.ts'
import { redactPersonalData } from '../../../mapping/redactPersonalData.ts'
import type { Draft } from './draft.ts'
import { dotenvFile, type WrittenEnvironment } from './environment.ts'
import type { Inspection } from './inspection.ts'

/** Returns the `--json` document of `init`, without secrets of the source's address. */
export function reportDocument(draft: Draft, inspection: Inspection, env: WrittenEnvironment) {
  const { pipeline, recognized, valid, suppressed, rejects, consent, settings } = draft
  return {
    pipeline: pipeline.name,
    file: pipeline.file,
    destination: destinationText(pipeline.destination),
    source: {
      uri: shownAddress(inspection.uri),
      detected: inspection.detected,
      columns: inspection.columns.map(redactPersonalData),
      mapping: recognized,
      rows: inspection.rows.length,
      valid,
      suppressed,
      rejected: rejects.length,
      whole: inspection.whole,
    },
    settings: { ...settings, source: { ...settings.source, url: shownAddress(settings.source.url) } },
    consent: consent.map(({ test, certain }) => ({ ...inPipelineKeys(test), certain })),
    env: { file: dotenvFile, added: env.added, kept: env.kept },
    notes: notesOf(draft, inspection, env),
    next: `sluice check ${pipeline.name}`,
  }
}

function notesOf({ rejects, optional, settings }: Draft, { encodingSamples }: Inspection, env: WrittenEnvironment): readonly string[] {
  const [mostFrequent] = groupRejects(rejects)
  const { encoding } = settings.source
  return [
    ...(encodingSamples === undefined || encoding === undefined
      ? []
      : [
          `encoding ${encoding}, by statistics; it reads ${encodingSamples.map((text) => JSON.stringify(text)).join(', ')}. If that is wrong: --encoding NAME`,
        ]),
    ...(mostFrequent === undefined ? [] : [`${mostFrequent.code} ${count(mostFrequent.count)} ×: ${mostFrequent.hint}`]),
    ...optional.map(({ flag, reason }) => `${reason}: ${flag}`),
    ...env.notes,
  ]
}

/** Returns the report as text: files, recognized columns, notes, next command. */
export function reportText(
  draft: Draft,
  inspection: Inspection,
  env: WrittenEnvironment,
  { sandbox, output }: { readonly sandbox: boolean; readonly output: Pick<Output, 'columns' | 'completeHint'> },
): string {
  const { pipeline, recognized, valid, suppressed, rejects } = draft
  const { columns } = output
  const fields = fieldsText(recognized.fields)
  const text = [
    `wrote  ${safe(pipeline.file)}   ${destinationText(pipeline.destination)}`,
    ...(inspection.detected.length === 0 ? [] : [`       ${safe(inspection.detected.join(', '))}`]),
    ...(fields === '' ? [] : [`       ${presetText(recognized)}${safe(fields)}`]),
    inspection.rows.length === 0
      ? '       no rows yet'
      : `       ${inspection.whole ? '' : 'the first '}${plural(inspection.rows.length, 'row')}: ${count(valid)} valid, ${plural(rejects.length, 'reject')}${suppressed === 0 ? '' : `, ${count(suppressed)} suppressed`}`,
    ...(env.added.length === 0
      ? []
      : [
          `wrote  ${dotenvFile}   ${sandbox ? `${plural(env.added.length, 'variable')} for the sandbox` : `${plural(env.added.length, 'variable')} to fill in`}, mode 0600`,
        ]),
    ...notesOf(draft, inspection, env).map((note) => `note   ${safe(note)}`),
    '',
  ].join('\n')
  const check = `${hintText(`sluice check ${pipeline.name}`, output)}\n`
  // A command is never folded, so that it can be pasted. The text in parentheses is left out if it does not fit.
  const sandboxLine = 'Next   sluice sandbox   (in a second terminal, unless it runs already)'
  const next = sandbox
    ? `${columns !== undefined && sandboxLine.length > columns ? 'Next   sluice sandbox' : sandboxLine}\n       ${check}`
    : `Next   ${check}`
  return fold(text, columns) + next
}

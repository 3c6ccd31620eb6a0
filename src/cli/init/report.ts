import { presetText } from '../render/check.ts'
import { groupRejects } from '../render/rejects.ts'
import { targetOf } from '../render/target.ts'
import { count, fold, plural, safe, shownAddress } from '../text.ts'
import { asWritten } from '../../mapping/consent/consentText.ts'
import type { Draft } from './draft.ts'
import { dotenv, type Environment } from './environment.ts'
import type { Look } from './look.ts'

/** What `init` did, as `--json` prints it. */
export function report(draft: Draft, look: Look, env: Environment) {
  const { pipeline, recognized, valid, suppressed, rejects, consent, settings } = draft
  return {
    pipeline: pipeline.name,
    file: pipeline.file,
    destination: targetOf(pipeline.destination),
    source: {
      uri: shownAddress(look.uri),
      detected: look.detected,
      columns: look.columns,
      mapping: recognized,
      rows: look.rows.length,
      valid,
      suppressed,
      rejected: rejects.length,
      whole: look.whole,
    },
    settings: { ...settings, source: { ...settings.source, url: shownAddress(settings.source.url) } },
    consent: consent.map(({ test, certain }) => ({ ...asWritten(test), certain })),
    env: { file: dotenv, added: env.added, kept: env.kept },
    notes: notesOf(draft, look, env),
    next: `sluice check ${pipeline.name}`,
  }
}

function notesOf({ rejects, wanted, settings }: Draft, { encodingSamples }: Look, env: Environment): readonly string[] {
  const [worst] = groupRejects(rejects)
  const { encoding } = settings.source
  return [
    ...(encodingSamples === undefined || encoding === undefined
      ? []
      : [
          `encoding ${encoding}, by statistics; it reads ${encodingSamples.map((text) => JSON.stringify(text)).join(', ')}. If that is wrong: --encoding NAME`,
        ]),
    ...(worst === undefined ? [] : [`${worst.code} ${count(worst.count)} ×: ${worst.hint}`]),
    ...wanted.map(({ flag, reason }) => `${reason}: ${flag}`),
    ...env.notes,
  ]
}

/** The same for people: files, what was recognized, what to look at, what to type next. `columns`: of a terminal. */
export function told(
  draft: Draft,
  look: Look,
  env: Environment,
  { sandbox, columns }: { readonly sandbox: boolean; readonly columns: number | undefined },
): string {
  const { pipeline, recognized, valid, suppressed, rejects } = draft
  const fields = recognized.fields.map(({ field, from }) => (field === from ? field : `${field} ← ${from}`)).join(', ')
  const text = [
    `wrote  ${safe(pipeline.file)}   ${targetOf(pipeline.destination)}`,
    ...(look.detected.length === 0 ? [] : [`       ${safe(look.detected.join(', '))}`]),
    ...(fields === '' ? [] : [`       ${presetText(recognized)}${safe(fields)}`]),
    look.rows.length === 0
      ? '       no rows to look at yet'
      : `       ${look.whole ? '' : 'the first '}${plural(look.rows.length, 'row')}: ${count(valid)} valid, ${plural(rejects.length, 'reject')}${suppressed === 0 ? '' : `, ${count(suppressed)} suppressed`}`,
    ...(env.added.length === 0
      ? []
      : [
          `wrote  ${dotenv}   ${sandbox ? `${plural(env.added.length, 'variable')} for the sandbox` : `${plural(env.added.length, 'variable')} to fill in`}, mode 0600`,
        ]),
    ...notesOf(draft, look, env).map((note) => `note   ${safe(note)}`),
    '',
  ].join('\n')
  const check = `sluice check ${pipeline.name}\n`
  // A command stays one line, to be pasted; the reason is left out where there is no room for it.
  const first = 'Next   sluice sandbox   (in a second terminal, if it does not run yet)'
  const next = sandbox
    ? `${columns !== undefined && first.length > columns ? 'Next   sluice sandbox' : first}\n       ${check}`
    : `Next   ${check}`
  return fold(text, columns) + next
}

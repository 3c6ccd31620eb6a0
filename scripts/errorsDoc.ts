/** Builds docs/errors.md, which `npm run docs` writes: every code of an error with its meaning and hint. */
import { errorGroups } from '../src/model/errorCodes.ts'
import { guardedCodes } from '../src/pipeline/schema.ts'
import { qualityCodes, withholdsByDefault } from '../src/mapping/statistics/qualityCodes.ts'
import { recordCodes } from '../src/mapping/rejectCodes.ts'

const noteMeanings: Readonly<Record<string, string | undefined>> = Object.fromEntries(
  Object.entries({ ...recordCodes, ...qualityCodes }).map(([code, { meaning }]) => [code, meaning]),
)

/** Returns the page: a heading for each code, so that links can lead to a code. */
export function errorsDoc(): string {
  return [
    '# Errors',
    '',
    'Generated from `src/model/errorCodes.ts` by `scripts/errorsDoc.ts`. Every error has a code and names the place, the problem, whether anything was sent, and the next step. Codes are stable, sentences are not. Reasons why a single row is not used are in [rejects.md](rejects.md).',
    '',
    ...errorGroups.flatMap(({ title, note, codes }) => [
      `## ${title}`,
      '',
      note,
      '',
      ...Object.entries(codes).flatMap(([code, [meaning, hint]]) => [`### ${code}`, '', `${meaning} *Hint:* ${hint}`, '']),
    ]),
    '## Notes that withhold a run',
    '',
    'Exit code 4. Nothing of the read was sent, because a note on the source (docs/rejects.md) casts doubt on all of it. Some notes always withhold the run. Others do so only if `guards.hold` names them.',
    '',
    ...guardedCodes.flatMap((code) => [
      `### GUARD_${code}`,
      '',
      `${noteMeanings[code] ?? ''} ${withholdsByDefault(code) ? 'Withholds the run.' : `Withholds the run if \`guards: { hold: [${code}] }\` is set.`} *Hint:* ${ownHints[code] ?? `Look at the source; if it is right, set \`guards: { accept: [${code}] }\` and run again.`}`,
      '',
    ]),
  ].join('\n')
}

/**
 * Hints of the notes for which `guards.accept` is the wrong answer. The right one is a setting for the file, or an approval of the deletes.
 */
const ownHints: Readonly<Record<string, string>> = {
  CONSENT_UNMAPPED: 'Write the `consent:` line that the run shows ([consent](consent.md)).',
  LEFT_UNMAPPED: 'Write the `consent:` line that the run shows ([consent](consent.md)).',
  CONSENT_UNKNOWN: 'Export the file again with the column; or, if every person in it agreed, set `consent: none` ([consent](consent.md)).',
  IDS_CHANGED:
    'Set `map: { id: … }` to the column of the earlier ids. If the products have new ids, approve the deletes of the missing ones: `sluice run PIPELINE --approve-deletes N`.',
  IDENTIFIER_UNMAPPED: 'Map the column, or list it in `ignore:` ([consent](consent.md#columns-of-emails-and-phone-numbers)).',
}

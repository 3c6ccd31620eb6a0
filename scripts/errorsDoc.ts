/** docs/errors.md: every code of an error with its meaning and mend (`npm run docs` writes it). */
import { errorGroups } from '../src/cli/errorCodes.ts'
import { guardedCodes } from '../src/pipeline/schema.ts'
import { heldCodes, qualityCodes } from '../src/records/qualityCodes.ts'
import { recordCodes } from '../src/records/rejectCodes.ts'

const noteMeanings: Readonly<Record<string, string | undefined>> = {
  ...Object.fromEntries(Object.entries(recordCodes).map(([code, { meaning }]) => [code, meaning])),
  ...qualityCodes,
}

/** The page as it should stand: a heading for each code, so that a code is an address. */
export function errorsDoc(): string {
  return [
    '# Errors',
    '',
    'Generated from `src/cli/errorCodes.ts` by `scripts/errorsDoc.ts`. Every error has a code, says where and what, whether anything was sent, and what to do. Codes are stable, sentences are not. Reasons why a single row is not used are in [rejects.md](rejects.md).',
    '',
    ...errorGroups.flatMap(({ title, note, codes }) => [
      `## ${title}`,
      '',
      note,
      '',
      ...Object.entries(codes).flatMap(([code, { meaning, mend }]) => [`### ${code}`, '', `${meaning} *Mend:* ${mend}`, '']),
    ]),
    '## Notes that withhold a run',
    '',
    'Exit code 4. Nothing was sent: a note on what was read (docs/rejects.md) speaks against all of it. Some do so by themselves, others where `guards.hold` names them.',
    '',
    ...guardedCodes.flatMap((code) => [
      `### GUARD_${code}`,
      '',
      `${noteMeanings[code] ?? ''} ${heldCodes.includes(code) ? 'Withholds by itself.' : `Withholds where \`guards: { hold: [${code}] }\` is set.`} *Mend:* Look at the source; if it is right, set \`guards: { accept: [${code}] }\` and run again.`,
      '',
    ]),
  ].join('\n')
}

/** Writes docs/errors.md from the table of codes. `--check` compares instead. */
import { readFileSync, writeFileSync } from 'node:fs'
import { errorGroups } from '../src/cli/errorCodes.ts'

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
  ].join('\n')
}

if (import.meta.main) {
  const file = new URL('../docs/errors.md', import.meta.url)
  if (!process.argv.includes('--check')) writeFileSync(file, errorsDoc())
  else if (readFileSync(file, 'utf8') !== errorsDoc()) {
    process.stderr.write('docs/errors.md differs from the code: node bin/node24.js scripts/errorsDoc.ts\n')
    process.exitCode = 1
  }
}

/** Builds docs/rejects.md, which `npm run docs` writes: reject codes, warnings, notes, transforms and presets. */
import { presets } from '../src/mapping/presets/index.ts'
import { qualityCodes } from '../src/mapping/statistics/qualityCodes.ts'
import { recordCodes } from '../src/mapping/rejectCodes.ts'
import { transforms } from '../src/mapping/transforms.ts'

const cell = (text: string) => text.replaceAll('|', '\\|')

/** Returns the page. */
export function rejectsDoc(): string {
  const entries = Object.entries(recordCodes)
  const rows = (outcome: 'reject' | 'warning') =>
    entries
      .filter(([, entry]) => entry.outcome === outcome)
      .map(([code, { meaning, hint }]) => `| \`${code}\` | ${cell(meaning)} | ${cell(hint)} |`)
  return [
    '# Rejects and warnings',
    '',
    'Generated from `src/mapping` by `scripts/rejectsDoc.ts`. Codes are stable, sentences are not. Personal values are always masked.',
    '',
    '## Rejects',
    '',
    'The row is not used. If it was synced before, its synced content stays (`stale`). Identifiers have the same codes: if a row has another usable identifier, the bad one is left out with the warning `IDENTIFIER_DROPPED`.',
    '',
    '| Code | Meaning | What to do |',
    '|---|---|---|',
    ...rows('reject'),
    '',
    '## Warnings',
    '',
    'The row is used; a value of it was repaired or left out. Warnings are counted by code and field, and show the first lines.',
    '',
    '| Code | Meaning | What to do |',
    '|---|---|---|',
    ...rows('warning'),
    '',
    '## Notes on the whole source',
    '',
    '| Code | Meaning |',
    '|---|---|',
    ...Object.entries(qualityCodes).map(([code, { meaning }]) => `| \`${code}\` | ${cell(meaning)} |`),
    '',
    '## Transforms',
    '',
    'Write them in `map:`, as `transform: name`, `transform: { name: arguments }` or a list of these, which is applied in order.',
    '',
    '| Name | What it does | Example |',
    '|---|---|---|',
    ...Object.entries(transforms).map(([name, { meaning, example }]) => `| \`${name}\` | ${cell(meaning)} | \`${cell(example)}\` |`),
    '',
    '## Presets',
    '',
    'A preset is recognized by the header if the pipeline has no `map:`, or named with `preset:`.',
    '',
    '| Name | Export | Recognized by these columns |',
    '|---|---|---|',
    ...presets.map(
      ({ name, title, identifyingColumns, otherIdentifyingSets = [] }) =>
        `| \`${name}\` | ${title} | ${[identifyingColumns, ...otherIdentifyingSets].map((columns) => columns.map((column) => `\`${cell(column)}\``).join(', ')).join('<br>or ')} |`,
    ),
    '',
  ].join('\n')
}

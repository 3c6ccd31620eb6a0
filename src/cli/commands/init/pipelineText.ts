import { inPipelineKeys, valuesText } from '../../../mapping/consent/consentText.ts'
import { fieldsText } from '../../reports/check.ts'
import { redactPersonalData } from '../../../mapping/redactPersonalData.ts'
import { safe } from '../../terminal/text.ts'
import type { Draft } from './draft.ts'
import type { Inspection } from './inspection.ts'
import { destinationOf } from '../../../destinations/index.ts'

/**
 * Returns a short pipeline file in YAML, with further settings as comments. Parsing the text returns `draft.settings`. Pure. `schema`: path
 * of the JSON Schema for editors, relative to the file.
 */
export function pipelineText(draft: Draft, inspection: Inspection, schema?: string): string {
  const { settings, pipeline } = draft
  const { name } = pipeline
  return [
    ...(schema === undefined ? [] : [`# yaml-language-server: $schema=${schema}`]),
    `# ${safe(name)}: how rows are mapped, and where they are sent. Check with: sluice check ${name}`,
    '',
    'source:',
    `  url: ${flowYaml(settings.source.url)}${inspection.detected.length === 0 ? '' : `   # ${safe(inspection.detected.join(', '))}`}`,
    ...(settings.source.encoding === undefined ? [] : [`  encoding: ${scalarYaml(settings.source.encoding)}`]),
    ...Object.entries(settings.source).flatMap(([key, value]) =>
      key === 'url' || key === 'encoding' ? [] : [`  ${key}: ${flowYaml(value)}`],
    ),
    '  # complete: { marker: "{path}.done" }   # with this line, missing rows are deleted only if the export wrote this file too',
    '',
    ...mapLines(draft),
    ...consentLines(draft),
    ...optionLines(draft),
    'destination:',
    ...Object.entries(settings.destination).map(([key, value]) => `  ${key}: ${key === 'kind' ? value : JSON.stringify(value)}`),
    ...(destinationOf(pipeline.destination.kind).init?.comments ?? []).map((line) => `  # ${line}`),
    '',
    '# guards:                     # these are the defaults',
    '#   max_delete_count: 10      # over both limits, deletes need: --approve-deletes N',
    '#   max_delete_percent: 10',
    '#   max_reject_percent: 50    # over this limit nothing is sent',
    '',
    '# schedule: "*/30 * * * *"    # when sluice serve runs it: minute, hour, day, month, weekday',
    '# timezone: Europe/Berlin     # time zone of the schedule; default UTC',
    '',
  ].join('\n')
}

/** Returns the lines of `preset` and `map`, and comments on columns that map automatically or are not used. */
function mapLines({ settings, recognized, suggestions, unused, pipeline }: Draft): readonly string[] {
  const { preset, map } = settings
  const automatic = fieldsText(
    recognized.fields.filter(({ field }) => map?.[field] === undefined && field !== 'consent' && field !== 'remove'),
  )
  const removes = destinationOf(pipeline.destination.kind).fields.includes('remove')
  return [
    ...(preset === undefined ? [] : [`preset: ${scalarYaml(preset)}`]),
    ...(automatic === ''
      ? []
      : commentLines(`Maps automatically${recognized.preset === undefined ? '' : ` (preset ${recognized.preset})`}: ${safe(automatic)}`)),
    ...(map === undefined
      ? suggestions.length > 0
        ? ['# map:']
        : []
      : ['map:   # field: column, [column, second column] or { column, default, transform }']),
    ...Object.entries(map ?? {}).map(
      ([field, value]) => `  ${field}: ${flowYaml(value)}${isConstant(value) ? '   # for every row: correct it if rows differ' : ''}`,
    ),
    ...suggestions.map((suggestion) => `${map === undefined ? '#' : ' #'}   ${safe(suggestion)}   # may fit`),
    ...(removes && map?.['remove'] === undefined
      ? ['# Only this removes people from the list: map: { remove: { column: status, values: [resubscribed] } }']
      : []),
    ...(unused.length === 0 ? [] : commentLines(`Not used: ${safe(unused.map(redactPersonalData).join(', '))}`)),
    '',
  ]
}

function isConstant(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'const' in value
}

/** Returns the lines of `consent` and `ignore`. A test that the user must complete is a comment. */
function consentLines({ settings, consent, presetConsent, pipeline, recognized }: Draft): readonly string[] {
  const ignored = settings.ignore === undefined ? [] : [`ignore: ${flowYaml(settings.ignore)}   # not about consent`]
  if (!destinationOf(pipeline.destination.kind).reachesPeople) return ignored.length === 0 ? [] : [...ignored, '']
  const written =
    settings.consent === undefined ? [] : [`consent: ${flowYaml(settings.consent)}   # all others are removed from the audience`]
  const preset = recognized.fields.filter(({ field }) => field === 'consent')
  if (consent.length === 0 && written.length === 0 && preset.length > 0)
    return [...commentLines(`Consent: ${safe(preset.map(({ from }) => from).join(', '))}`), ...ignored, '']
  if (consent.length === 0)
    return [
      ...(written.length > 0
        ? written
        : ['# consent: { column: marketing_ok, values: ["yes"] }   # all others are removed from the audience']),
      ...ignored,
      '',
    ]
  const known = Array.isArray(settings.consent)
    ? settings.consent
    : settings.consent === undefined
      ? presetConsent.map(inPipelineKeys)
      : [settings.consent]
  const tests: readonly unknown[] = [...known, ...consent.map(({ test }) => inPipelineKeys(test))]
  return [
    ...written,
    ...ignored,
    '# These columns look like consent, and stop the run until they are mapped. Correct the values that mean yes, and remove the #:',
    ...consent.flatMap(({ column, shown }) =>
      commentLines(`${safe(column)}: ${shown.length === 0 ? 'dates or texts, or empty' : valuesText(shown)}`, '#   '),
    ),
    `# consent: ${flowYaml(tests.length === 1 ? tests[0] : tests)}`,
    '',
  ]
}

function optionLines({ settings, pipeline }: Draft): readonly string[] {
  if (settings.options !== undefined) return [`options: ${flowYaml(settings.options)}   # of prices without one`, '']
  return destinationOf(pipeline.destination.kind).keys === 'products'
    ? ['# options: { default_currency: EUR }   # of prices without one', '']
    : []
}

/** Formats a comment, broken between words into lines of up to 120 characters. `start`: beginning of the first line. */
function commentLines(text: string, start = '# '): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < 120) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(`${lines.length === 0 ? start : '#   '}${word}`)
  }
  return lines
}

/** Formats a value in YAML's flow style. `${` in a text, such as the name of a column, becomes `$${`, because it is no variable. */
function flowYaml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flowYaml).join(', ')}]`
  if (typeof value === 'object' && value !== null)
    return `{ ${Object.entries(value)
      .map(([key, part]) => `${scalarYaml(key)}: ${flowYaml(part)}`)
      .join(', ')} }`
  return typeof value === 'string' ? scalarYaml(value.replaceAll('${', () => '$${')) : String(value)
}

/** Formats a text. Quotes it if YAML might read it as another type or as syntax. */
function scalarYaml(text: string): string {
  return /^[A-Za-z_][\w./-]*$/.test(text) && !/^(?:y|n|yes|no|on|off|true|false|null|nan)$/i.test(text) ? text : JSON.stringify(text)
}

import { UsageError } from '../../../errors.ts'
import { quoteArgument } from '../../../format.ts'
import { EncodingError } from '../../../formats/encodingError.ts'
import { FileError } from '../../../formats/fileError.ts'
import { resolvePipeline } from '../../../pipeline/resolve.ts'
import { columnForField } from '../../../mapping/headerWords.ts'
import { maskedExcerpt } from '../../../mapping/redactPersonalData.ts'
import { sourceTypeOf } from '../../../sources/sourceAddress.ts'
import type { Context } from '../../context.ts'
import type { Prompt } from '../../terminal/prompt.ts'
import { sandboxTargets } from '../sandbox/sandboxDefaults.ts'
import { safe } from '../../terminal/text.ts'
import { waiting } from '../../terminal/waiting.ts'
import { draftPipeline, failingProposals, type Draft, type Target } from './draft.ts'
import { columnNames, inspectSource, type Inspection } from './inspection.ts'
import type { Question } from './question.ts'
import { peopleColumns } from './peopleColumns.ts'
import { commandLineOf, initKinds, sandboxTarget, type InitOptions } from './options.ts'
import { destinationOf } from '../../../destinations/index.ts'

/** Function that asks a question and returns the answer; empty if the user only presses Enter. */
export type Ask = (question: string) => Promise<string>

/** Returns an `Ask` that throws `MISSING_OPTION` on Ctrl-D, because Ctrl-D is not an empty answer. */
export function requireAnswers(prompt: Prompt): Ask {
  return async (question) => {
    const answer = await prompt.ask(question)
    if (answer !== undefined) return answer
    throw new UsageError('MISSING_OPTION', 'a question was not answered. Nothing was written.', {
      where: 'init',
      hint: 'sluice help init   (has a flag for each question)',
    })
  }
}

export type SourcedOptions = InitOptions & { readonly source: string }

/** Returns the options with the source, from the flag or from an answer. @throws {UsageError} `MISSING_OPTION` */
export async function chooseSource(options: InitOptions, ask: Ask | undefined): Promise<SourcedOptions> {
  const source = options.source ?? (await ask?.('The source, a file or an address: '))
  if (source !== undefined && source !== '') return { ...options, source }
  throw missingOptionError(['--source FILE'], 'the source is missing', commandLineOf(options, ['--source exports/crm.csv']))
}

/**
 * Reads the first rows. Asks for the encoding if the bytes are not UTF-8 and no guess is certain. Asks for the file of an archive with
 * several files. Returns the rows and the options. The options have these answers, a certain encoding, and the settings that an error
 * suggested.
 *
 * @throws {UsageError} `MISSING_OPTION` if an answer is needed and `ask` is undefined
 * @throws {UsageError} as `sourceOf`
 * @throws {RunError} as `inspectSource`, if no setting is known that corrects the error
 */
export async function inspectWithAnswers(
  context: Context,
  options: SourcedOptions,
  ask: Ask | undefined,
): Promise<{ readonly inspection: Inspection; readonly options: SourcedOptions }> {
  try {
    return { inspection: await waiting(context, 'reading the source', () => inspectSource(context, sourceOf(options))), options }
  } catch (error) {
    if (error instanceof FileError) return inspectWithSetting(context, options, ask, error)
    if (!(error instanceof EncodingError) || options.encoding !== undefined) throw error
    const { guesses, certain } = error.found
    const [first] = guesses
    if (certain && first !== undefined) {
      const inspected = await inspectWithAnswers(context, { ...options, encoding: first.encoding }, ask)
      return { ...inspected, inspection: { ...inspected.inspection, encodingSamples: first.samples } }
    }
    const shown = guesses.map(({ encoding, samples }) => `${encoding} reads ${samples.map((text) => JSON.stringify(text)).join(', ')}`)
    const flag = `--encoding ${first?.encoding ?? 'NAME'}`
    if (ask === undefined)
      throw missingOptionError([flag], ['the bytes of the source are not utf-8', ...shown].join('; '), commandLineOf(options, [flag]))
    const proposal = first === undefined ? '' : ` [${first.encoding}]`
    const answer = await ask(
      `The bytes are not UTF-8.\n${shown.map((line) => `  ${safe(line)}\n`).join('')}Which encoding is right?${proposal} `,
    )
    const encoding = answer === '' ? first?.encoding : answer
    return encoding === undefined ? inspectWithAnswers(context, options, ask) : inspectWithAnswers(context, { ...options, encoding }, ask)
  }
}

/**
 * Inspects again, with the setting that the error suggests or with the chosen file of an archive.
 *
 * Throws `error` in these cases:
 * - It suggests no setting and names no files.
 * - The suggested setting, or a chosen file, was already used.
 *
 * Throws `MISSING_OPTION` if a file must be chosen and `ask` is undefined.
 */
async function inspectWithSetting(
  context: Context,
  options: SourcedOptions,
  ask: Ask | undefined,
  error: FileError,
): ReturnType<typeof inspectWithAnswers> {
  const { remedy, members = [] } = error
  if (remedy !== undefined) {
    const settings = {
      ...options.settings,
      ...remedy,
      ...(remedy.xml === undefined ? {} : { xml: { ...options.settings.xml, ...remedy.xml } }),
    }
    // The suggested setting was already used.
    if (JSON.stringify(settings) === JSON.stringify(options.settings)) throw error
    return inspectWithAnswers(context, { ...options, settings }, ask)
  }
  const [first] = members
  if (first === undefined || options.settings.member !== undefined) throw error
  const flag = `--member ${quoteArgument(first)}`
  if (ask === undefined) throw missingOptionError([flag], error.message, commandLineOf(options, [flag]))
  const answer = await ask(`Which file of the archive? The first are ${members.map(safe).join(', ')} [${safe(first)}] `)
  return inspectWithAnswers(context, { ...options, settings: { ...options.settings, member: answer === '' ? first : answer } }, ask)
}

/**
 * Returns the definition of the source.
 *
 * @throws {UsageError} `INVALID_VALUE` for an invalid address or setting
 * @throws {UsageError} `MISSING_OPTION` for a database and an SFTP server, because `init` does not ask for query, host key and credentials
 */
function sourceOf({ source: url, encoding, settings }: SourcedOptions) {
  const given = { url, ...(encoding === undefined ? {} : { encoding }), ...settings }
  const { pipeline, problems } = resolvePipeline({ source: given, destination: { kind: 'catalog', catalog_id: '1' } }, 'init', 'init')
  const [source] = pipeline?.sources ?? []
  const notSupportedError = (message: string) =>
    new UsageError('MISSING_OPTION', message, {
      where: '--source',
      hint: 'write the pipeline file by hand, as docs/sources.md shows, then: sluice check',
    })
  if (source !== undefined && sourceTypeOf(source.uri) === 'sftp')
    throw notSupportedError('an sftp source needs its host_key and credentials, which init does not ask for. Nothing was written.')
  if (source !== undefined) return source
  const [first] = problems ?? []
  const message = `${first?.path ?? 'source'} ${first?.message ?? 'is not valid'}. Nothing was written.`
  throw first?.path === 'source.query'
    ? notSupportedError(message)
    : new UsageError('INVALID_VALUE', message, {
        where: first?.path === 'source.encoding' ? '--encoding' : '--source',
        hint: 'sluice help init',
      })
}

/**
 * Returns the destination: from flags, from answers, or the sandbox's default. Also returns the options, with `sandbox` true if the user
 * chose the sandbox. `place`: name and file of the pipeline.
 *
 * @throws {UsageError} `MISSING_OPTION`
 */
export async function chooseTarget(
  context: Context,
  given: SourcedOptions,
  inspection: Inspection,
  place: { readonly name: string; readonly file: string },
  ask: Ask | undefined,
): Promise<{ readonly options: InitOptions; readonly target: Target }> {
  const guess = likelyKind(inspection)
  const canAskTarget = given.targetId === undefined && ask !== undefined
  const sandbox =
    given.sandbox ||
    (canAskTarget &&
      context.config().service.baseUrl === undefined &&
      !/^n/i.test(await ask('Try it on the sandbox of this machine first? [Y/n] ')))
  const missingTargetError = () =>
    missingOptionError([...initKinds().map(flagsOf), '--sandbox'], 'the destination is missing', commandLineOf(given, [flagsOf(guess)]))
  const kind = given.kind ?? (canAskTarget ? await askKind(ask, guess) : sandbox ? guess : undefined)
  if (kind === undefined) throw missingTargetError()
  const askAccount = () => askOptional(ask, 'Id of the advertising account: ')
  const account = needsAccount(kind) ? (given.account ?? (sandbox ? sandboxTargets.account : await askAccount())) : undefined
  const askId = () => askOptional(ask, `Id of the ${destinationOf(kind).init?.noun ?? kind}: `)
  const targetId = given.targetId ?? (sandbox ? sandboxTarget(kind) : await askId())
  if (targetId === undefined) throw missingTargetError()
  if (needsAccount(kind) && account === undefined)
    throw missingOptionError(
      ['--account ID'],
      `the ${kind} belongs to an account`,
      commandLineOf({ ...given, kind, targetId }, ['--account ID']),
    )
  return { options: { ...given, sandbox }, target: { ...place, kind, targetId, account } }
}

/** Returns true if destinations of the type belong to an account. */
function needsAccount(kind: string): boolean {
  return destinationOf(kind).init?.needsAccount === true
}

function flagsOf(kind: string): string {
  return `--${kind} ID${needsAccount(kind) ? ' --account ID' : ''}`
}

const typicalProductFields = ['title', 'description', 'link', 'image_link', 'availability', 'price', 'gtin', 'brand'] as const

/**
 * Guesses the destination type. Emails or phone numbers in the first rows mean an audience, unless at least five of `typicalProductFields`
 * have a column. Without such values, a column named like an email, phone or device id means an audience, unless there is a price column.
 * All else means a catalog.
 */
function likelyKind(inspection: Inspection): 'audience' | 'catalog' {
  const { columns } = inspection
  const productColumns = typicalProductFields.filter((field) => columnForField(field, columns) !== undefined).length
  const { email, phone_number: phone } = peopleColumns(inspection)
  if (email.length + phone.length > 0) return productColumns < 5 ? 'audience' : 'catalog'
  const people = columnForField('email', columns) ?? columnForField('phone_number', columns) ?? columnForField('device_id', columns)
  return people !== undefined && columnForField('price', columns) === undefined ? 'audience' : 'catalog'
}

async function askKind(ask: Ask, guess: string): Promise<string> {
  const kinds = initKinds()
  for (;;) {
    const answer = await ask(`Destination: ${kinds.join(', ')} [${guess}] `)
    const found = answer === '' ? guess : kinds.find((kind) => kind.startsWith(answer.toLowerCase()))
    if (found !== undefined) return found
  }
}

async function askOptional(ask: Ask | undefined, question: string): Promise<string | undefined> {
  const answer = await ask?.(question)
  return answer === '' ? undefined : answer
}

/**
 * Asks the open questions one after the other until the draft is complete. Without `ask`, skips optional questions, and takes
 * the proposed consent tests if all are certain.
 *
 * @throws {UsageError} `MISSING_OPTION` for a required question without an answer. Without `ask`, with the flags of all such questions
 * @throws {UsageError} `MISSING_OPTION` if the proposed columns reject every inspected row
 * @throws {UsageError} as `draftPipeline`
 */
export async function completeDraft(inspection: Inspection, target: Target, given: InitOptions, ask: Ask | undefined): Promise<Draft> {
  let options = given
  const declined = new Set<string>()
  let errorText = ''
  for (;;) {
    const draft = draftPipeline(inspection, target, options)
    const openQuestions = [...draft.required, ...(ask === undefined ? [] : draft.optional)].filter(({ flag }) => !declined.has(flag))
    const [question] = openQuestions
    if (question === undefined) {
      requireUsableRow(draft, options, target)
      return ask === undefined ? (withProposedConsent(inspection, target, options, draft) ?? draft) : draft
    }
    if (ask === undefined) throw unansweredError(inspection, openQuestions, options, target)
    const proposal = question.proposed === undefined ? '' : ` [${question.proposed}; - for none]`
    const reply = await ask(`${errorText}${question.text}${proposal}: `)
    errorText = ''
    const answer = reply === '' ? (question.proposed ?? '') : reply
    if (reply !== '-' && (answer !== '' || question.proposed !== undefined)) {
      const next = { ...options, ...question.answered(answer) }
      errorText = errorOfAnswer(inspection, target, next)
      if (errorText === '') options = next
    } else if (reply === '-' && question.declined !== undefined) options = { ...options, ...question.declined }
    else if (draft.required.includes(question)) throw unansweredError(inspection, [question], options, target)
    else declined.add(question.flag)
  }
}

/** Throws `MISSING_OPTION` if the proposed columns reject every inspected row, because then the user must name the columns. */
function requireUsableRow(draft: Draft, options: InitOptions, target: Target): void {
  const failing = failingProposals(draft, options)
  if (failing.length === 0) return
  const flags = failing.map(({ field }) => `--map ${field}=COLUMN`)
  const reasons = failing.map(({ field, message }) => `${field} ← ${shownColumn(draft.settings.map?.[field])}: ${message}`)
  const reason = `all ${draft.rejects.length} inspected rows would be rejected: ${reasons.join('; ')}`
  throw missingOptionError(flags, reason, commandLineWith(target, options, flags))
}

function shownColumn(value: unknown): string {
  const column = typeof value === 'object' && value !== null && 'column' in value ? value.column : value
  return typeof column === 'string' ? JSON.stringify(maskedExcerpt(column)) : 'its columns'
}

/**
 * Returns a draft with every proposed consent test, for calls that ask no questions. Undefined if there is no test, if a test is not
 * certain, or if no row passes. A pipeline without a needed test is safe: its run stops and shows the `consent:` line to write.
 */
function withProposedConsent(inspection: Inspection, target: Target, options: InitOptions, { consent }: Draft): Draft | undefined {
  if (consent.length === 0 || !consent.every(({ certain }) => certain)) return undefined
  const draft = draftPipeline(inspection, target, { ...options, consent: [...options.consent, ...consent.map(({ test }) => test)] })
  return draft.valid > 0 ? draft : undefined
}

/** Returns the error of invalid options as one line of text; empty if the options are valid. */
function errorOfAnswer(inspection: Inspection, target: Target, options: InitOptions): string {
  try {
    draftPipeline(inspection, target, options)
    return ''
  } catch (error) {
    if (error instanceof UsageError) return `${error.message.replace(' Nothing was written.', '')}\n`
    throw error
  }
}

/** Returns the error for questions without an answer, with a flag for each. */
function unansweredError(inspection: Inspection, questions: readonly Question[], options: InitOptions, target: Target): UsageError {
  const flags = questions.map(({ flag }) => flag)
  const fields = questions.flatMap(({ field }) => field ?? [])
  const columns =
    fields.length === 0
      ? []
      : [
          `no column is called ${fields.join(', ')}; there are ${columnNames(inspection)}${destinationOf(target.kind).keys === 'products' ? ' (--set FIELD=VALUE for a value that all rows share)' : ''}`,
        ]
  const others = questions.flatMap(({ field, reason }) => (field === undefined ? [reason] : []))
  return missingOptionError(flags, [...columns, ...others].join('; '), commandLineWith(target, options, flags))
}

/** Returns the command line with the options, the destination and the added flags. */
function commandLineWith({ kind, targetId, account }: Target, options: InitOptions, flags: readonly string[]): string {
  return commandLineOf({ ...options, kind, targetId, account }, flags)
}

function missingOptionError(flags: readonly string[], reason: string, call: string): UsageError {
  return new UsageError('MISSING_OPTION', `${safe(reason)}. Nothing was written.`, { where: flags.join(' | '), hint: safe(call) })
}

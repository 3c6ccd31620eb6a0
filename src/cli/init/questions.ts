import { UsageError } from '../../errors.ts'
import { EncodingError } from '../../formats/encodingError.ts'
import { FileError } from '../../formats/fileError.ts'
import { resolvePipeline } from '../../pipeline/resolve.ts'
import { columnCalled } from '../../mapping/headerWords.ts'
import type { Context } from '../context.ts'
import type { Prompt } from '../prompt.ts'
import { sandboxTargets } from '../sandboxDefaults.ts'
import { safe } from '../text.ts'
import { waiting } from '../waiting.ts'
import { draftPipeline, failingProposals, type Draft, type Target } from './draft.ts'
import { listed, lookAtSource, type Look } from './look.ts'
import type { Question } from './ownerQuestions.ts'
import { peopleColumns } from './peopleColumns.ts'
import { callOf, sandboxTarget, shellWord, type Kind, type Wishes } from './wishes.ts'

/** Asks a person, and has an answer; Enter alone is an empty one. Undefined where nobody can be asked. */
export type Ask = (question: string) => Promise<string>

/** Whoever ends the questions (Ctrl-D) wants none of it: what Enter alone would mean is not taken for an answer. */
export function insisting(prompt: Prompt): Ask {
  return async (question) => {
    const answer = await prompt.ask(question)
    if (answer !== undefined) return answer
    throw new UsageError('MISSING_OPTION', 'the questions were left unanswered. Nothing was written.', {
      where: 'init',
      hint: 'sluice help init   (a flag for each of them)',
    })
  }
}

export type Sourced = Wishes & { readonly source: string }

export async function withSource(wishes: Wishes, ask: Ask | undefined): Promise<Sourced> {
  const source = wishes.source ?? (await ask?.('The source, a file or an address: '))
  if (source !== undefined && source !== '') return { ...wishes, source }
  throw missing(['--source FILE'], 'it has to be told what to read', callOf(wishes, ['--source exports/crm.csv']))
}

/** The first rows; where the bytes are no UTF-8, only their owner knows what they are. */
export async function looked(
  context: Context,
  wishes: Sourced,
  ask: Ask | undefined,
): Promise<{ readonly look: Look; readonly wishes: Sourced }> {
  try {
    return { look: await waiting(context, 'reading the source', () => lookAtSource(context, sourceOf(wishes))), wishes }
  } catch (error) {
    if (error instanceof FileError) return lookedAgain(context, wishes, ask, error)
    if (!(error instanceof EncodingError) || wishes.encoding !== undefined) throw error
    const { guesses, certain } = error.found
    const [first] = guesses
    if (certain && first !== undefined) {
      const found = await looked(context, { ...wishes, encoding: first.encoding }, ask)
      return { ...found, look: { ...found.look, encodingSamples: first.samples } }
    }
    const shown = guesses.map(({ encoding, samples }) => `${encoding} reads ${samples.map((text) => JSON.stringify(text)).join(', ')}`)
    const flag = `--encoding ${first?.encoding ?? 'NAME'}`
    if (ask === undefined) throw missing([flag], ['the bytes of the source are not utf-8', ...shown].join('; '), callOf(wishes, [flag]))
    const proposal = first === undefined ? '' : ` [${first.encoding}]`
    const answer = await ask(
      `The bytes are not UTF-8.\n${shown.map((line) => `  ${safe(line)}\n`).join('')}Which encoding are they?${proposal} `,
    )
    const encoding = answer === '' ? first?.encoding : answer
    return encoding === undefined ? looked(context, wishes, ask) : looked(context, { ...wishes, encoding }, ask)
  }
}

/** With the setting that reads the file, or with the file of the archive that somebody names. */
async function lookedAgain(context: Context, wishes: Sourced, ask: Ask | undefined, error: FileError): ReturnType<typeof looked> {
  const { remedy, members = [] } = error
  if (remedy !== undefined) {
    const settings = {
      ...wishes.settings,
      ...remedy,
      ...(remedy.xml === undefined ? {} : { xml: { ...wishes.settings.xml, ...remedy.xml } }),
    }
    // A setting that did not help is not tried twice.
    if (JSON.stringify(settings) === JSON.stringify(wishes.settings)) throw error
    return looked(context, { ...wishes, settings }, ask)
  }
  const [first] = members
  if (first === undefined || wishes.settings.member !== undefined) throw error
  const flag = `--member ${shellWord(first)}`
  if (ask === undefined) throw missing([flag], error.message, callOf(wishes, [flag]))
  const answer = await ask(`Which file of the archive? There are ${members.map(safe).join(', ')} [${safe(first)}] `)
  return looked(context, { ...wishes, settings: { ...wishes.settings, member: answer === '' ? first : answer } }, ask)
}

/** @throws {UsageError} `INVALID_VALUE`, `MISSING_OPTION` for an address that no source can be, or not alone */
function sourceOf({ source: url, encoding, settings }: Sourced) {
  const given = { url, ...(encoding === undefined ? {} : { encoding }), ...settings }
  const { pipeline, problems } = resolvePipeline({ source: given, destination: { kind: 'catalog', catalog_id: '1' } }, 'init', 'init')
  const [source] = pipeline?.sources ?? []
  if (source !== undefined) return source
  const [first] = problems ?? []
  const message = `${first?.path ?? 'source'} ${first?.message ?? 'is not valid'}. Nothing was written.`
  // Some kinds need more than an address.
  throw first?.path === 'source.query'
    ? new UsageError('MISSING_OPTION', message, {
        where: '--source',
        hint: 'write the file by hand, as docs/sources.md shows, then: sluice check',
      })
    : new UsageError('INVALID_VALUE', message, {
        where: first?.path === 'source.encoding' ? '--encoding' : '--source',
        hint: 'sluice help init',
      })
}

/** Where the rows go: by flags, by answers, or to the sandbox's own. */
export async function withTarget(
  context: Context,
  given: Sourced,
  look: Look,
  place: { readonly name: string; readonly file: string },
  ask: Ask | undefined,
): Promise<{ readonly wishes: Wishes; readonly target: Target }> {
  const guess = likelyKind(look)
  const asks = given.target === undefined && ask !== undefined
  const sandbox =
    given.sandbox ||
    (asks && context.config().service.baseUrl === undefined && (await agreed(ask, 'Try it on the sandbox of this machine first?')))
  const kind = given.kind ?? (asks ? await kindAsked(ask, guess) : sandbox ? guess : undefined)
  const account =
    given.account ??
    (sandbox ? sandboxTargets.account : kind === 'catalog' ? undefined : await asked(ask, 'Id of the advertising account: '))
  const target =
    given.target ??
    (kind === undefined
      ? undefined
      : sandbox
        ? sandboxTarget(kind)
        : await asked(ask, `Id of the ${kind === 'do-not-reach' ? 'do-not-reach list' : kind}: `))
  if (kind === undefined || target === undefined)
    throw missing(
      ['--catalog ID', '--audience ID --account ID', '--do-not-reach ID --account ID', '--sandbox'],
      'it has to be told where the rows go',
      callOf(given, [guess === 'catalog' ? '--catalog ID' : '--audience ID --account ID']),
    )
  if (kind !== 'catalog' && account === undefined)
    throw missing(['--account ID'], `the ${kind} belongs to an account`, callOf({ ...given, kind, target }, ['--account ID']))
  return { wishes: { ...given, sandbox }, target: { ...place, kind, target, account: kind === 'catalog' ? undefined : account } }
}

const productFields = ['title', 'description', 'link', 'image_link', 'availability', 'price', 'gtin', 'brand'] as const

/** Feeds describe products, lists of people hold addresses: by the values of the first rows, and by the whole header. */
function likelyKind(look: Look): Kind {
  const { columns } = look
  const described = productFields.filter((field) => columnCalled(field, columns) !== undefined).length
  const { email, phone_number: phone } = peopleColumns(look)
  if (email.length + phone.length > 0) return described < 5 ? 'audience' : 'catalog'
  const people = columnCalled('email', columns) ?? columnCalled('phone_number', columns) ?? columnCalled('device_id', columns)
  return people !== undefined && columnCalled('price', columns) === undefined ? 'audience' : 'catalog'
}

async function kindAsked(ask: Ask, guess: Kind): Promise<Kind> {
  const kinds: readonly Kind[] = ['catalog', 'audience', 'do-not-reach']
  for (;;) {
    const answer = await ask(`It goes to a: ${kinds.join(', ')} [${guess}] `)
    const found = answer === '' ? guess : kinds.find((kind) => kind.startsWith(answer.toLowerCase()))
    if (found !== undefined) return found
  }
}

async function agreed(ask: Ask, question: string): Promise<boolean> {
  return !/^n/i.test(await ask(`${question} [Y/n] `))
}

async function asked(ask: Ask | undefined, question: string): Promise<string | undefined> {
  const answer = await ask?.(question)
  return answer === '' ? undefined : answer
}

/** Asks until nothing is missing that a run would need; where nobody can be asked, names every flag at once. */
export async function settled(look: Look, target: Target, given: Wishes, ask: Ask | undefined): Promise<Draft> {
  let wishes = given
  const declined = new Set<string>()
  let said = ''
  for (;;) {
    const draft = draftPipeline(look, target, wishes)
    const open = [...draft.needed, ...(ask === undefined ? [] : draft.wanted)].filter(({ flag }) => !declined.has(flag))
    const [question] = open
    if (question === undefined) refuseFailing(draft, wishes, target)
    if (question === undefined) return ask === undefined ? (withProposedConsent(look, target, wishes, draft) ?? draft) : draft
    if (ask === undefined) throw unanswered(look, open, wishes, target)
    const proposal = question.proposed === undefined ? '' : ` [${question.proposed}; - for none]`
    const reply = await ask(`${said}${question.text}${proposal}: `)
    said = ''
    const answer = reply === '' ? (question.proposed ?? '') : reply
    if (reply !== '-' && (answer !== '' || question.proposed !== undefined)) {
      const next = { ...wishes, ...question.answered(answer) }
      said = fault(look, target, next)
      if (said === '') wishes = next
    } else if (reply === '-' && question.declined !== undefined) wishes = { ...wishes, ...question.declined }
    else if (draft.needed.includes(question)) throw unanswered(look, [question], wishes, target)
    else declined.add(question.flag)
  }
}

/** A proposal that rejects every row is not written: the owner names the column. */
function refuseFailing(draft: Draft, wishes: Wishes, target: Target): void {
  const failing = failingProposals(draft, wishes)
  if (failing.length === 0) return
  const flags = failing.map(({ field }) => `--map ${field}=COLUMN`)
  const known = { ...wishes, kind: target.kind, target: target.target, account: target.account }
  const reasons = failing.map(({ field, message }) => `${field} ← ${shownColumn(draft.settings.map?.[field])}: ${message}`)
  throw missing(
    flags,
    `all ${draft.rejects.length} rows that were looked at would be rejected: ${reasons.join('; ')}`,
    callOf(known, flags),
  )
}

function shownColumn(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return typeof value === 'object' && value !== null && 'column' in value ? JSON.stringify(value.column) : 'its columns'
}

/**
 * Where nobody can be asked: the draft with every proposed test of consent, if all of them are certain and some rows are
 * sent. Otherwise undefined: the run stops and shows the line to write.
 */
function withProposedConsent(look: Look, target: Target, wishes: Wishes, { consent }: Draft): Draft | undefined {
  if (consent.length === 0 || !consent.every(({ certain }) => certain)) return undefined
  const draft = draftPipeline(look, target, { ...wishes, consent: [...wishes.consent, ...consent.map(({ test }) => test)] })
  return draft.valid > 0 ? draft : undefined
}

/** Why an answer cannot be, as a line above the same question; empty where it can. */
function fault(look: Look, target: Target, wishes: Wishes): string {
  try {
    draftPipeline(look, target, wishes)
    return ''
  } catch (error) {
    if (error instanceof UsageError) return `${error.message.replace(' Nothing was written.', '')}\n`
    throw error
  }
}

function unanswered(look: Look, questions: readonly Question[], wishes: Wishes, target: Target): UsageError {
  const flags = questions.map(({ flag }) => flag)
  const known = { ...wishes, kind: target.kind, target: target.target, account: target.account }
  const fields = questions.flatMap(({ field }) => field ?? [])
  const columns =
    fields.length === 0
      ? []
      : [
          `no column is called ${fields.join(', ')}; there are ${listed(look)}${target.kind === 'catalog' ? ' (--set FIELD=VALUE is for what all rows share)' : ''}`,
        ]
  const others = questions.flatMap(({ field, reason }) => (field === undefined ? [reason] : []))
  return missing(flags, [...columns, ...others].join('; '), callOf(known, flags))
}

function missing(flags: readonly string[], reason: string, call: string): UsageError {
  return new UsageError('MISSING_OPTION', `${safe(reason)}. Nothing was written.`, { where: flags.join(' | '), hint: safe(call) })
}

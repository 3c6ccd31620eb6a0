import { RunError, UsageError } from '../../errors.ts'
import { resolvePipeline } from '../../pipeline/resolve.ts'
import { columnCalled } from '../../records/headerWords.ts'
import type { Context } from '../context.ts'
import type { Prompt } from '../prompt.ts'
import { sandboxTargets } from '../sandboxDefaults.ts'
import { safe } from '../text.ts'
import { waiting } from '../waiting.ts'
import { draftPipeline, type Draft, type Target } from './draft.ts'
import { listed, lookAtSource, type Look } from './look.ts'
import type { Question } from './ownerQuestions.ts'
import { callOf, sandboxTarget, type Kind, type Wishes } from './wishes.ts'

/** Asks a person, and has an answer; Enter alone is an empty one. Undefined where nobody can be asked. */
export type Ask = (question: string) => Promise<string>

/** Whoever ends the questions (Ctrl-D) wants none of it: what Enter alone would mean is not taken for an answer. */
export function insisting(prompt: Prompt): Ask {
  return async (question) => {
    const answer = await prompt.ask(question)
    if (answer !== undefined) return answer
    throw new UsageError('MISSING_OPTION', 'the questions were left unanswered. Nothing was written.', {
      where: 'init',
      mend: 'sluice help init   (a flag for each of them)',
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
    if (!(error instanceof RunError) || error.code !== 'FILE_ENCODING' || wishes.encoding !== undefined) throw error
    if (ask === undefined)
      throw missing(['--encoding windows-1252'], 'the bytes of the source are not utf-8', callOf(wishes, ['--encoding windows-1252']))
    const answer = await ask('The bytes are not UTF-8. Which encoding are they? [windows-1252] ')
    return looked(context, { ...wishes, encoding: answer === '' ? 'windows-1252' : answer }, ask)
  }
}

/** @throws {UsageError} `INVALID_VALUE`, `MISSING_OPTION` for an address that no source can be, or not alone */
function sourceOf({ source: url, encoding }: Sourced) {
  const given = { url, ...(encoding === undefined ? {} : { encoding }) }
  const { pipeline, problems } = resolvePipeline({ source: given, destination: { kind: 'catalog', catalog_id: '1' } }, 'init', 'init')
  const [source] = pipeline?.sources ?? []
  if (source !== undefined) return source
  const [first] = problems ?? []
  const message = `${first?.path ?? 'source'} ${first?.message ?? 'is not valid'}. Nothing was written.`
  // Some kinds need more than an address.
  throw first?.path === 'source.query'
    ? new UsageError('MISSING_OPTION', message, {
        where: '--source',
        mend: 'write the file by hand, as docs/sources.md shows, then: sluice check',
      })
    : new UsageError('INVALID_VALUE', message, {
        where: first?.path === 'source.encoding' ? '--encoding' : '--source',
        mend: 'sluice help init',
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

/** Feeds of products hold prices, lists of people hold addresses. */
function likelyKind({ columns }: Look): Kind {
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
    if (question === undefined) return draft
    if (ask === undefined) throw unanswered(look, open, wishes, target)
    const proposal = question.proposed === undefined ? '' : ` [${question.proposed === '' ? 'empty' : question.proposed}; - for none]`
    const reply = await ask(`${said}${question.text}${proposal}: `)
    said = ''
    const answer = reply === '' ? (question.proposed ?? '') : reply
    if (reply !== '-' && (answer !== '' || question.proposed !== undefined)) {
      const next = { ...wishes, ...question.answered(answer) }
      said = fault(look, target, next)
      if (said === '') wishes = next
    } else if (draft.needed.includes(question)) throw unanswered(look, [question], wishes, target)
    else declined.add(question.flag)
  }
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
  return new UsageError('MISSING_OPTION', `${safe(reason)}. Nothing was written.`, { where: flags.join(' | '), mend: safe(call) })
}

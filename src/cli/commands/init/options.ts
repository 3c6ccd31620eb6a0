import { UsageError } from '../../../errors.ts'
import { quoteArgument } from '../../../format.ts'
import type { SourceSettings } from '../../../formats/fileError.ts'
import type { ConsentTest } from '../../../model/pipeline.ts'
import { argument, flag, listOption, option, type Invocation } from '../../context.ts'
import { sandboxTargets } from '../sandbox/sandboxDefaults.ts'
import { parseConsentAnswer, formatConsentAnswer } from './consentAnswers.ts'
import { shownAddress } from '../../../shownAddress.ts'
import { destinationTypes } from '../../../destinations/index.ts'

/** Options of `sluice init`, from flags and answers. An undefined option has no value yet, and `init` may ask for it. */
export interface InitOptions {
  readonly name: string | undefined
  readonly source: string | undefined
  /** Encoding of the source; undefined to detect it. */
  readonly encoding: string | undefined
  /** Further settings of the source, from flags, answers, or the error of reading the source without them. */
  readonly settings: SourceSettings
  readonly sandbox: boolean
  readonly force: boolean
  /** Type of the destination, as in `initKinds`. */
  readonly kind: string | undefined
  /** Id of the catalog, audience or list. */
  readonly targetId: string | undefined
  readonly account: string | undefined
  /** Field → its columns, in order. */
  readonly map: Readonly<Record<string, readonly string[]>>
  /** Field → its value in every row. */
  readonly set: Readonly<Record<string, string>>
  readonly consent: readonly ConsentTest[]
  /** Columns that are not about consent. */
  readonly ignore: readonly string[]
  readonly currency: string | undefined
  readonly country: string | undefined
  /** Address of the shop, for exports without links. */
  readonly shop: string | undefined
}

/** Returns the options of the command line. @throws {UsageError} `INVALID_VALUE`, `OPTIONS_CONFLICT` */
export function initOptionsOf(invocation: Invocation): InitOptions {
  const targets = initKinds().map((type) => [type, option(invocation, propertyOf(type))] as const)
  const givenTargets = targets.filter(([, id]) => id !== undefined)
  const [kind, id] = givenTargets[0] ?? []
  if (givenTargets.length > 1)
    throw new UsageError('OPTIONS_CONFLICT', 'a pipeline has one destination, and several are named. Nothing was written.', {
      where: givenTargets.map(([name]) => `--${name}`).join(', '),
      hint: ['sluice init', `--${kind}`, id, '  (one pipeline per destination)'].join(' '),
    })
  const name = argument(invocation, 0)
  const map: Record<string, string[]> = Object.create(null)
  for (const [field, column] of listOption(invocation, 'map').map((text) => pairOf('--map', 'key=customer_id', text)))
    (map[field] ??= []).push(column)
  const consent = listOption(invocation, 'consent').map((text) => {
    const [column, values] = pairOf('--consent', 'marketing_ok=yes,true', text)
    return parseConsentAnswer(column, values)
  })
  const [member, item] = [option(invocation, 'member'), option(invocation, 'item')]
  const options: InitOptions = {
    name: name === '' ? undefined : name,
    source: option(invocation, 'source'),
    encoding: option(invocation, 'encoding'),
    settings: { ...(member === undefined ? {} : { member }), ...(item === undefined ? {} : { xml: { item } }) },
    sandbox: flag(invocation, 'sandbox'),
    force: flag(invocation, 'force'),
    kind,
    targetId: id,
    account: option(invocation, 'account'),
    map,
    set: Object.fromEntries(listOption(invocation, 'set').map((text) => pairOf('--set', 'condition=new', text))),
    consent,
    ignore: listOption(invocation, 'ignore'),
    currency: option(invocation, 'currency'),
    country: option(invocation, 'country'),
    shop: option(invocation, 'shop'),
  }
  checkName(options)
  return options
}

/**
 * Returns the command line with all known options, then the `added` flags, quoted for a shell. Leaves out consent tests that a flag cannot
 * express, so that `init` asks for them again. Hides secrets in the source's address.
 */
export function commandLineOf(options: InitOptions, added: readonly string[]): string {
  const { name, source, kind, targetId, account, map, set, consent, ignore, encoding, settings, currency, country, shop } = options
  const flags: readonly (readonly [string, string | undefined])[] = [
    ['source', source === undefined ? undefined : shownAddress(source)],
    ...(options.sandbox && targetId === sandboxTarget(kind) ? [] : [[kind ?? '', targetId] as const, ['account', account] as const]),
    ['encoding', encoding],
    ['member', settings.member],
    ['item', settings.xml?.item],
    ...Object.entries(map).flatMap(([field, columns]) => columns.map((column) => ['map', `${field}=${column}`] as const)),
    ...Object.entries(set).map(([field, value]) => ['set', `${field}=${value}`] as const),
    ...consent.flatMap((test) => {
      const answer = test.appliesTo === undefined ? formatConsentAnswer(test) : undefined
      return answer === undefined ? [] : [['consent', `${test.column}=${answer}`] as const]
    }),
    ...ignore.map((column) => ['ignore', column] as const),
    ['currency', currency],
    ['country', country],
    ['shop', shop],
  ]
  return [
    'sluice init',
    ...(name === undefined ? [] : [name]),
    ...flags.flatMap(([flag, value]) => (value === undefined ? [] : [`--${flag} ${quoteArgument(value)}`])),
    ...(options.sandbox ? ['--sandbox'] : []),
    ...(options.force ? ['--force'] : []),
    ...added,
  ].join(' ')
}

/** Returns the id of the sandbox's destination of a type; undefined if the sandbox has none. Without `kind`: of the first type. */
export function sandboxTarget(kind: string | undefined): string | undefined {
  const targets: Readonly<Record<string, string>> = sandboxTargets
  return targets[propertyOf(kind ?? initKinds()[0] ?? '')]
}

/** Returns the `kind` of each destination type that `init` offers. */
export function initKinds(): readonly string[] {
  return destinationTypes().flatMap(({ kind, init }) => (init === undefined ? [] : [kind]))
}

/** Returns the name of an option as a property: `do-not-reach` → `doNotReach`. */
function propertyOf(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** Checks the pipeline name, more strictly than the loader (src/pipeline/load.ts). @throws {UsageError} `INVALID_VALUE` */
function checkName(options: InitOptions): void {
  const { name } = options
  if (name === undefined || /^[A-Za-z0-9][\w-]{0,63}$/.test(name)) return
  throw new UsageError(
    'INVALID_VALUE',
    'the name of a pipeline has up to 64 letters, digits, - and _, and begins with a letter or digit. Nothing was written.',
    {
      where: 'NAME',
      hint: commandLineOf({ ...options, name: nameFrom(name) }, []),
    },
  )
}

/** Returns a pipeline name for a source: `products-2` for `https://shop.example.com/export/Products%202.csv.gz?token=1`. */
export function nameFrom(source: string): string {
  const isAddress = /^[a-z][a-z0-9+.-]+:\/\//i.test(source)
  const path = isAddress && URL.canParse(source) ? new URL(source).pathname.replace(/%[0-9a-f]{2}/gi, '-') : source
  const last = path.split(/[/\\]/).findLast((part) => part !== '') ?? ''
  const name = last
    .replace(/(?:\.(?:gz|zip|zst|csv|tsv|txt|tab|json|jsonl|ndjson|xml|rss|atom|xlsx|yaml|yml|ts))+$/i, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^[-_]+|-+$/g, '')
  return name.slice(0, 64) || (isAddress && URL.canParse(source) ? nameFrom(new URL(source).hostname.replaceAll('.', '-')) : 'pipeline')
}

/**
 * Splits the value of a flag at `=`. Column names may contain `=`. `--map` and `--set` begin with a field, so they are split at the first
 * `=`. `--consent` begins with a column, so it is split at the last `=`.
 *
 * @throws {UsageError} `INVALID_VALUE` if the text has no `=` or nothing before it. For `--map` and `--set`, also without text after the
 *   `=`
 */
function pairOf(name: '--map' | '--set' | '--consent', example: string, text: string): readonly [string, string] {
  const at = name === '--consent' ? text.lastIndexOf('=') : text.indexOf('=')
  if (at <= 0 || (name !== '--consent' && at === text.length - 1))
    throw new UsageError('INVALID_VALUE', `${name} needs two parts with = between them. Nothing was written.`, {
      where: name,
      hint: `${name} ${example}`,
    })
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()]
}

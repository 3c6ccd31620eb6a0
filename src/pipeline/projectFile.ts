/** Reads `sluice.yaml`, beside the folder of pipelines: named credentials, alerts, and defaults of every pipeline. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import type { ConfigError, Problem } from '../errors.ts'
import { readYaml } from './readDocument.ts'
import { problemsOfIssues, invalidFileError, problemAt, withLines, type PathProblem, type ValuePath } from './problems.ts'
import { nameSchema, pipelineDefaultsSchema } from './schema.ts'
import { serviceAddressFault } from '../serviceAddress.ts'
import { oneOf, strict, text } from '../settings/values.ts'
import { expandVariables, type Variables } from './variables.ts'
import { errorCode, isPlainRecord } from '../unknownValue.ts'

const credentialsSchema = strict({
  base_url: text('an address').optional(),
  ads_base_url: text('an address').optional(),
  ads_sandbox_base_url: text('an address').optional(),
  ads_version: z.union([z.string(), z.int()]).transform(String).optional(),
  consumer_key: text('a text'),
  consumer_secret: text('a text'),
  access_token: text('a text'),
  access_token_secret: text('a text'),
})

const alertSchema = strict({
  type: oneOf(['slack', 'webhook', 'email']),
  url: text('an address').optional(),
  /** For `email`. */
  smtp: text('an address such as smtp://user@host:587').optional(),
  from: text('an address').optional(),
  to: z.union([text('an address'), z.array(text('an address')).min(1)]).optional(),
})

/** Schema of `sluice.yaml`. */
export const projectSchema = strict({
  credentials: z.record(nameSchema, credentialsSchema, 'must be sets of credentials by name').optional(),
  alerts: z
    .record(nameSchema, z.union([z.array(nameSchema, 'must be a list of names'), alertSchema]), 'must be receivers by name')
    .optional(),
  defaults: pipelineDefaultsSchema.optional(),
})

/** Credentials in clear text. Never logged or stored. */
export type CredentialSet = z.output<typeof credentialsSchema>
/** Receiver of alerts: a chat, a webhook or email addresses. */
export type AlertReceiver = z.output<typeof alertSchema>

/** Checked content of sluice.yaml. */
export interface ProjectFile {
  /** Path for messages, even if the file does not exist. */
  readonly file: string
  /** Usable sets by name. */
  readonly credentials: Readonly<Record<string, CredentialSet>>
  /** Problems of variables and addresses, by name of the set. They concern only the pipelines that use the set. */
  readonly unusableCredentials: Readonly<Record<string, readonly Problem[]>>
  /** Receivers of alerts by name. */
  readonly receivers: Readonly<Record<string, AlertReceiver>>
  /** Names of the receivers for pipelines that name none. */
  readonly defaultReceivers: readonly string[]
  /** Defaults as written, with variables replaced. They are checked in each pipeline, after its own settings are merged over them. */
  readonly defaults: Readonly<Record<string, unknown>>
  /** Paths of the values in `defaults` that are one variable and nothing else. */
  readonly defaultReferences: readonly ValuePath[]
}

/**
 * Reads `sluice.yaml` (or `sluice.yml`) beside `directory`, the folder of pipelines. Without such a file, all fields but `file` are empty.
 *
 * @throws {ConfigError} PROJECT_INVALID with every problem and its line
 */
export async function readProjectFile(directory: string, variables: Variables): Promise<ProjectFile> {
  const folder = path.dirname(path.resolve(directory))
  for (const name of ['sluice.yaml', 'sluice.yml']) {
    const file = path.relative('', path.join(folder, name)) || name
    let content: string
    try {
      content = await readFile(path.join(folder, name), 'utf8')
    } catch (error) {
      if (errorCode(error) === 'ENOENT') continue
      throw invalidProjectError(file, [{ path: '', message: `cannot be read (${errorCode(error) ?? 'unknown'})`, where: file }])
    }
    return parseProjectFile(content, file, variables)
  }
  return {
    file: 'sluice.yaml',
    credentials: {},
    unusableCredentials: {},
    receivers: {},
    defaultReceivers: [],
    defaults: {},
    defaultReferences: [],
  }
}

function parseProjectFile(content: string, file: string, variables: Variables): ProjectFile {
  const { input, lineOf } = readYaml(content, file, (problems) => invalidProjectError(file, problems))
  const expanded = expandVariables(input ?? {}, variables)
  const located = (problems: readonly PathProblem[] = []) => withLines(problems, file, lineOf)
  const { '': otherProblems, ...problemsBySet } = Object.groupBy(expanded.problems, ({ parts: [key, name] }) =>
    key === 'credentials' && name !== undefined ? String(name) : '',
  )
  if (otherProblems !== undefined) throw invalidProjectError(file, located(otherProblems))
  const checked = projectSchema.safeParse(expanded.value)
  if (!checked.success) throw invalidProjectError(file, located(problemsOfIssues(checked.error.issues, expanded.value)))
  const { receivers, defaultReceivers, problems } = readAlerts(checked.data.alerts ?? {})
  if (problems.length > 0) throw invalidProjectError(file, located(problems))
  const credentials = Object.entries(checked.data.credentials ?? {})
  for (const [name, set] of credentials) {
    const addressFaults = addressProblems(name, set)
    if (problemsBySet[name] === undefined && addressFaults.length > 0) problemsBySet[name] = addressFaults
  }
  return {
    file,
    credentials: Object.fromEntries(credentials.filter(([name]) => problemsBySet[name] === undefined)),
    unusableCredentials: Object.fromEntries(Object.entries(problemsBySet).map(([name, setProblems]) => [name, located(setProblems)])),
    receivers,
    defaultReceivers,
    defaults: checked.data.defaults ?? {},
    defaultReferences: expanded.references.flatMap(([key, ...path]) => (key === 'defaults' ? [path] : [])),
  }
}

function addressProblems(name: string, set: CredentialSet): PathProblem[] {
  return (['base_url', 'ads_base_url', 'ads_sandbox_base_url'] as const).flatMap((key) => {
    const address = set[key]
    const fault = address === undefined ? undefined : serviceAddressFault(address, key)
    return fault === undefined ? [] : [problemAt(['credentials', name, key], `the address ${fault.message}`, fault.hint)]
  })
}

/** Separates `alerts` into the receivers and the list of default receivers. */
function readAlerts(
  alerts: NonNullable<z.output<typeof projectSchema>['alerts']>,
): Pick<ProjectFile, 'receivers' | 'defaultReceivers'> & { readonly problems: readonly PathProblem[] } {
  const receivers: Record<string, AlertReceiver> = {}
  let defaultReceivers: readonly string[] = []
  const problems: PathProblem[] = []
  for (const [name, alert] of Object.entries(alerts)) {
    if (!Array.isArray(alert)) {
      receivers[name] = alert
      problems.push(...receiverProblems(alert).map(([key, message]) => problemAt(['alerts', name, key], message)))
    } else if (name === 'default') defaultReceivers = alert
    else problems.push(problemAt(['alerts', name], 'must be a receiver; only default is a list of names'))
  }
  for (const name of defaultReceivers)
    if (!Object.hasOwn(receivers, name)) problems.push(problemAt(['alerts', 'default'], `"${name}" is not a receiver under alerts`))
  return { receivers, defaultReceivers, problems }
}

/** Returns each missing or invalid setting of a receiver, with its problem. */
function receiverProblems({ type, url, smtp, to }: AlertReceiver): [keyof AlertReceiver, string][] {
  if (type !== 'email') {
    if (url === undefined) return [['url', 'is missing: it must be an http or https address']]
    return /^https?:\/\/./i.test(url) && URL.canParse(url) ? [] : [['url', 'must be an http or https address']]
  }
  const problems: [keyof AlertReceiver, string][] = []
  const key = smtp === undefined && url !== undefined ? 'url' : 'smtp'
  const server = smtp ?? url
  if (server === undefined) problems.push([key, 'is missing: it must be an address such as smtp://user@host:587'])
  else if (!/^smtps?:\/\/./i.test(server)) problems.push([key, 'must be an address such as smtp://user@host:587'])
  if (to === undefined) problems.push(['to', 'is missing: it needs the address of a person'])
  else if (![to].flat().every(hasAddresses)) problems.push(['to', 'must be addresses such as ops@example.com'])
  return problems
}

/**
 * Returns true if each part of a text such as `a@example.com, Ops <b@example.com>` is an address with a host. The mail library leaves out
 * other parts without an error.
 */
function hasAddresses(text: string): boolean {
  const parts = text.replace(/"[^"]*"/g, '').split(/[,;]/)
  const addresses = parts.filter((part) => part.trim() !== '')
  return addresses.length > 0 && addresses.every((part) => /^(?:[^<>]*<[^\s@<>]+@[^\s@<>]+>|\s*[^\s@<>]+@[^\s@<>]+)\s*$/.test(part))
}

function invalidProjectError(file: string, problems: readonly Problem[]): ConfigError {
  return invalidFileError('PROJECT_INVALID', file, problems, problems[0]?.where)
}

/** Merges `input` over `defaults`: objects key by key, any other value as a whole. */
export function withDefaults(input: unknown, defaults: Readonly<Record<string, unknown>>): unknown {
  if (!isPlainRecord(input)) return input
  const merged: Record<string, unknown> = { ...input }
  for (const [key, value] of Object.entries(defaults)) {
    const own = merged[key]
    if (own === undefined) merged[key] = value
    else if (isPlainRecord(own) && isPlainRecord(value)) merged[key] = withDefaults(own, value)
  }
  return merged
}

import { parse } from 'dotenv'
import { existsSync, readFileSync } from 'node:fs'
import type { Context } from '../../context.ts'
import { runningSandbox } from '../sandbox/sandboxAddress.ts'
import { fixedCredentials } from '../../../sandbox/area.ts'
import { environmentFor, sandboxPort } from '../sandbox/sandboxDefaults.ts'
import { writeWholeFile } from '../../wholeFile.ts'
import type { InitOptions } from './options.ts'

export interface DotenvChange {
  /** New text of the file; undefined if nothing changes. */
  readonly text: string | undefined
  /** Names of the variables that get a value, or an empty line to fill in. */
  readonly added: readonly string[]
  /** Names of the variables that already have a value. */
  readonly kept: readonly string[]
}

/** Change of the `.env` of this folder, with notes for the user. */
export interface WrittenEnvironment extends DotenvChange {
  readonly notes: readonly string[]
}

/** Path of the changed file, in the working directory. */
export const dotenvFile = '.env'

/**
 * Adds missing variables to `.env`. With `sandbox`, adds those of the sandbox, unless one of them already has another value, in `.env` or
 * in the process. Without `sandbox`, adds empty variables for the user to fill in.
 */
export function writeEnvironment(context: Context, { sandbox }: InitOptions): WrittenEnvironment {
  const { env, service } = context.config()
  const existing = existsSync(dotenvFile) ? readFileSync(dotenvFile, 'utf8') : ''
  const sandboxUrl = runningSandbox(context.config().dataDir) ?? `http://127.0.0.1:${sandboxPort}`
  const values = sandbox ? environmentFor(sandboxUrl, fixedCredentials) : emptyVariables(env)
  const differing = sandbox
    ? Object.entries(values).filter(([name, value]) => env[name] !== undefined && env[name]?.replace(/\/+$/, '') !== value)
    : []
  if (differing.length > 0)
    return {
      text: undefined,
      added: [],
      kept: Object.keys(values).filter((name) => env[name] !== undefined),
      notes: [
        `${dotenvFile} was not changed: ${differing.map(([name]) => name).join(', ')} ${differing.length === 1 ? 'has another value' : 'have other values'} ` +
          `than the sandbox on ${sandboxUrl}${service.baseUrl === undefined ? '' : `; the service is ${service.baseUrl}`}`,
      ],
    }
  const change = addToDotenv(existing, values, [
    sandbox
      ? 'The sandbox of this machine (sluice sandbox). These credentials are valid only there.'
      : 'The service and the credentials: sluice help environment describes each, sluice auth login fills the last two.',
    'Keep this file out of version control.',
  ])
  if (change.text !== undefined) writeWholeFile(dotenvFile, change.text, { private: true })
  return { ...change, notes: [] }
}

/** Returns the required variables that are not set, each with an empty value for the user to fill in. `env` includes `.env`. */
function emptyVariables(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const names = ['SLUICE_BASE_URL', 'SLUICE_CONSUMER_KEY', 'SLUICE_CONSUMER_SECRET', 'SLUICE_ACCESS_TOKEN', 'SLUICE_ACCESS_TOKEN_SECRET']
  return Object.fromEntries(names.filter((name) => env[name] === undefined && env[`${name}_FILE`] === undefined).map((name) => [name, '']))
}

/**
 * Adds variables to the text of a `.env`. Missing variables are appended under `comment`, empty variables are filled in place, and
 * existing values are kept. Idempotent. Pure.
 */
export function addToDotenv(existing: string, values: Readonly<Record<string, string>>, comment: readonly string[]): DotenvChange {
  const current = parse(existing)
  const kept = Object.keys(values).filter((name) => (current[name] ?? '') !== '')
  const added = Object.keys(values).filter((name) => !kept.includes(name) && current[name] !== values[name])
  if (added.length === 0) return { text: undefined, added, kept }
  const emptyNames = added.filter((name) => name in current)
  let text = existing
  for (const name of emptyNames)
    text = text.replace(new RegExp(`^(\\s*(?:export\\s+)?${name}\\s*=).*$`, 'm'), (_, head: string) => `${head}${values[name]}`)
  const appended = added.filter((name) => !emptyNames.includes(name))
  if (appended.length > 0) {
    if (text !== '') text = `${text.trimEnd()}\n\n`
    text += [...comment.map((line) => `# ${line}`), ...appended.map((name) => `${name}=${values[name]}`), ''].join('\n')
  }
  return { text, added, kept }
}

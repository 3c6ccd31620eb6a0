/**
 * Reads and checks single values of the environment. Adds problems to a list instead of throwing, so that one error reports all of them.
 */
import { accessSync, constants, readFileSync } from 'node:fs'
import { parse } from 'dotenv'
import type { Problem } from '../errors.ts'
import { defaultSchema, schemaNameFault } from '../schemaName.ts'
import { readSecretValue } from '../secretValue.ts'
import { serviceAddressFault } from '../serviceAddress.ts'
import { Secret } from './secret.ts'
import { errorCode, isPlainRecord } from '../unknownValue.ts'

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the variables of a `.env` that are not empty. Returns none if there is no file. A file that cannot be read also adds a problem.
 */
export function readDotenv(path: string, problems: Problem[]): Environment {
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch (error) {
    const code = errorCode(error)
    if (code !== 'ENOENT' && code !== 'ENOTDIR')
      problems.push({ path: '.env', message: `cannot be read (${code})`, hint: 'make .env a file that this user may read' })
    return {}
  }
  return omitEmpty(parse(content))
}

/**
 * Returns the variables that are not empty. An empty variable counts as unset, so an empty one of the process does not hide that of `.env`.
 */
export function omitEmpty(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
}

/** Returns the trimmed value; undefined if the variable is not set or has only spaces. */
export function readText(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === '' ? undefined : value
}

/** Reads a secret from the variable, or from the file that `NAME_FILE` names. Undefined if neither is set or there is a problem. */
export function readSecret(name: string, env: Environment, problems: Problem[], secrets: Secret[]): Secret | undefined {
  const secretValue = readSecretValue(env, name)
  if (secretValue === undefined) return undefined
  if ('value' in secretValue) return addSecret(secretValue.value, secrets)
  const file = `${name}_FILE`
  if (secretValue.fault === 'both')
    problems.push({ path: name, message: `is set, and ${file} too`, hint: `unset one of ${name} and ${file}` })
  else if (secretValue.fault === 'empty')
    problems.push({ path: file, message: 'names an empty file', hint: `put the value of ${name} into it` })
  else problems.push({ path: file, message: `names a file that cannot be read (${secretValue.code})`, hint: `correct ${file}` })
  return undefined
}

/** Adds a value to the known secrets, and returns the value as a secret. */
export function addSecret(value: string, secrets: Secret[]): Secret {
  const secret = new Secret(value)
  secrets.push(secret)
  return secret
}

/** Reads an http(s) address, without a final slash; undefined if it is not set or there is a problem. */
export function readUrl(name: string, env: Environment, problems: Problem[]): string | undefined {
  const value = readText(env, name)
  if (value === undefined) return undefined
  const fault = serviceAddressFault(value, name)
  if (fault === undefined) return new URL(value).href.replace(/\/+$/, '')
  problems.push({ path: name, ...fault })
  return undefined
}

/** Adds a problem if the value is not an address of Postgres. `path`: variable or flag of the value. */
export function checkDatabaseUrl(value: string, path: string, problems: Problem[]): void {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url?.protocol === 'postgres:' || url?.protocol === 'postgresql:') {
    if ([url.username, url.password, url.pathname].some((part) => decodePart(part) === undefined))
      problems.push({ path, message: 'contains a % that is not encoded', hint: `write %25 for each % in the password of ${path}` })
    return
  }
  problems.push({
    path,
    message: 'is not a Postgres address',
    hint: `write ${path === '--database' ? '--database ' : 'DATABASE_URL='}postgres://user@host:5432/name`,
  })
}

/** Decodes a part of an address; undefined if it has a `%` that is not encoded. */
export function decodePart(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** Returns true if every value is a text that is not empty. */
function hasOnlyTexts(value: Readonly<Record<string, unknown>>): value is Readonly<Record<string, string>> {
  return Object.values(value).every((item) => typeof item === 'string' && item !== '')
}

/** Reads SLUICE_SERVICE_NAMES, a JSON object of texts; empty if it is not set or there is a problem. */
export function readNames(env: Environment, problems: Problem[]): Readonly<Record<string, string>> {
  const value = readText(env, 'SLUICE_SERVICE_NAMES')
  if (value === undefined) return {}
  const hint = 'write a JSON object of texts: {"service_id":"…"}'
  try {
    const parsed: unknown = JSON.parse(value)
    if (isPlainRecord(parsed) && hasOnlyTexts(parsed)) return parsed
    problems.push({ path: 'SLUICE_SERVICE_NAMES', message: 'is not a JSON object of texts', hint })
  } catch {
    problems.push({ path: 'SLUICE_SERVICE_NAMES', message: 'is not JSON', hint })
  }
  return {}
}

/**
 * Reads a number of days, at least 60; undefined if it is not set or there is a problem. Fewer are rejected, because reports, retries and
 * renewals read up to a month of history.
 */
export function readDays(env: Environment, name: string, problems: Problem[]): number | undefined {
  const value = readText(env, name)
  if (value === undefined) return undefined
  const days = /^\d{1,5}$/.test(value) ? Number(value) : 0
  if (days >= 60) return days
  problems.push({ path: name, message: 'is not a whole number of days, 60 or more', hint: `set ${name} to 400, or unset it` })
  return undefined
}

/** Reads one of several words, ignoring case; `fallback` if the variable is not set or there is a problem. */
export function readOneOf<const Values extends readonly string[]>(
  env: Environment,
  name: string,
  values: Values,
  fallback: Values[number],
  problems: Problem[],
): Values[number] {
  const value = readText(env, name)?.toLowerCase()
  if (value === undefined) return fallback
  if (values.includes(value)) return value
  problems.push({ path: name, message: `is not one of ${values.join(', ')}`, hint: `set ${name} to ${fallback}, or unset it` })
  return fallback
}

/**
 * Reads the name of an HTTP header, in lower case; undefined if it is not set or there is a problem. `Authorization` and `Cookie` are
 * rejected, because they contain credentials.
 */
export function readHeaderName(env: Environment, name: string, problems: Problem[]): string | undefined {
  const value = readText(env, name)?.toLowerCase()
  if (value === undefined) return undefined
  if (/^[a-z0-9-]{1,100}$/.test(value) && value !== 'authorization' && value !== 'cookie') return value
  problems.push({ path: name, message: 'is not the name of a header', hint: `set ${name} to a name such as X-Forwarded-User` })
  return undefined
}

/** Reads the name of a database schema; default `sluice`. */
export function readSchema(env: Environment, name: string, problems: Problem[]): string {
  const schema = readText(env, name) ?? defaultSchema
  const fault = schemaNameFault(schema)
  if (fault !== undefined) problems.push({ path: name, message: `"${schema}" ${fault}`, hint: `${name}=sluice_staging, or unset it` })
  return schema
}

export function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}

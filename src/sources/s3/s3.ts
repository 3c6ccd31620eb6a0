import { matchesGlob } from 'node:path'
import { Readable } from 'node:stream'
import type { GetObjectCommandOutput, S3Client } from '@aws-sdk/client-s3'
import { RunError } from '../../errors.ts'
import { readLimits } from '../../formats/limits.ts'
import type { SourceDefinition } from '../../model/pipeline.ts'
import { maxBesideBytes, type ByteStream, type TransportEnd } from '../byteStream.ts'
import { readCredential } from '../credentials.ts'
import { checkedLookup, checkUrl } from '../../http/addressPolicy.ts'
import { isReadableCoding } from '../http/httpAnswer.ts'
import { codingError } from '../http/httpErrors.ts'
import { newerMatch, wildcard, type Match } from '../newestMatch.ts'
import type { SourceContext } from '../openedSource.ts'
import { Timeouts } from '../timeouts.ts'
import { s3Error, statusOf, storeCause } from './s3Errors.ts'
import { readResumable } from '../../http/resumableRead.ts'
import { maxAttempts } from '../../http/sourceRetryLimit.ts'

/**
 * Opens `s3://bucket/key`, or the newest key that matches a pattern. `?endpoint=https://…`, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL names
 * a store other than AWS. The request is conditional on the last ETag of this object.
 *
 * Credentials come from the first of these places that has them:
 * - the variables that `access_key_id`, `secret_access_key` and `session_token` of the source name
 * - the AWS_… variables
 * - the other places where the AWS client looks
 *
 * Resumes with If-Match after a broken connection. Checks that the response is a part of the same object, because some stores ignore
 * If-Match and ranges.
 *
 * @returns `unchanged` if the store answers 304
 *
 * @throws RunError SOURCE_REFUSED, SOURCE_CREDENTIALS, SOURCE_DENIED, SOURCE_MISSING, SOURCE_UNAVAILABLE, SOURCE_CHANGED,
 * FILE_TRUNCATED
 */
export async function openS3(definition: SourceDefinition, context: SourceContext): Promise<ByteStream | 'unchanged'> {
  const { url, bucket, pattern } = addressOf(definition.uri)
  const requested = `s3://${url.host}${url.pathname}`
  const timeouts = new Timeouts(requested, context)
  // Loaded on demand, because loading takes 0.3 s and 30 MB.
  const { S3Client, GetObjectCommand } = await import('@aws-sdk/client-s3')
  const client = new S3Client(clientOptions(url, definition, context))
  let knownTag: string | undefined
  try {
    const key = await newestKey(client, { bucket, pattern, label: requested, signal: timeouts.signal })
    const label = key === pattern ? requested : `s3://${url.host}/${key.split('/').map(encodeURIComponent).join('/')}`
    const get = (more: { readonly Key?: string; readonly IfNoneMatch?: string; readonly IfMatch?: string; readonly Range?: string }) =>
      client.send(new GetObjectCommand({ Bucket: bucket, Key: key, ...more }), { abortSignal: timeouts.signal })
    // Another object may have the same tag, because some stores count the versions of each object.
    knownTag = context.previous?.uri === label ? context.previous.etag : undefined
    const firstAnswer = await get(knownTag === undefined ? {} : { IfNoneMatch: knownTag })
    rejectUnusable(firstAnswer, label)
    return {
      label,
      chunks: readObject(firstAnswer, { label, timeouts, backoffMs: context.backoffMs ?? 500, get }),
      readBeside: async (suffix) => {
        const markerObject = await get({ Key: key + suffix })
        const stream = streamOf(markerObject)
        const isSmall = (markerObject.ContentLength ?? Infinity) <= maxBesideBytes
        const content = isSmall ? Buffer.concat(await Array.fromAsync(timeouts.chunks(stream))) : Buffer.alloc(0)
        stream.destroy()
        return { content, older: isBefore(markerObject.LastModified, firstAnswer.LastModified) }
      },
      end: () => Promise.resolve(endOf(firstAnswer)),
      close: () => Promise.resolve(client.destroy()),
    }
  } catch (error) {
    client.destroy()
    timeouts.throwIfEnded()
    if (statusOf(error) === 304 && knownTag !== undefined) return 'unchanged'
    throw s3Error(error, requested)
  }
}

interface Reading {
  readonly label: string
  readonly timeouts: Timeouts
  readonly backoffMs: number
  readonly get: (more: { readonly IfMatch: string; readonly Range: string }) => Promise<GetObjectCommandOutput>
}

/** Reads the body of one object, over as many connections as needed. */
function readObject(firstAnswer: GetObjectCommandOutput, { label, timeouts, backoffMs, get }: Reading): AsyncGenerator<Buffer> {
  const { ContentLength: length, ETag: etag } = firstAnswer
  // A weak ETag does not guarantee the same bytes.
  const validator = etag?.startsWith('W/') === true ? undefined : etag
  const changedError = (cause: unknown) =>
    new RunError('SOURCE_CHANGED', 'the object changed while it was read', {
      where: label,
      hint: 'Run again once the upload is finished.',
      cause: storeCause(cause),
    })
  const truncatedError = (received: number, cause: unknown) =>
    new RunError('FILE_TRUNCATED', `the connection was cut after ${received} bytes`, {
      where: label,
      hint: 'Run again.',
      cause: storeCause(cause),
    })

  const resume = async (from: number, cause: unknown): Promise<GetObjectCommandOutput> => {
    if (validator === undefined) throw truncatedError(from, cause)
    const part = await get({ IfMatch: validator, Range: `bytes=${from}-` }).catch((failure: unknown) => {
      timeouts.throwIfEnded()
      const status = statusOf(failure)
      // The object was deleted, replaced, or is shorter than the bytes already read.
      throw status === 404 || status === 412 || status === 416 ? changedError(failure) : truncatedError(from, failure)
    })
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+)$/.exec(part.ContentRange ?? '') ?? []
    if (part.ETag === validator && Number(start) === from && (length === undefined || Number(total) === length)) return part
    streamOf(part).destroy()
    throw part.ETag === validator ? truncatedError(from, cause) : changedError(cause)
  }

  return readResumable({
    length: () => length,
    changedError: () => changedError(undefined),
    async *part(from, cause) {
      const answer = cause === undefined ? firstAnswer : await resume(from, cause)
      const stream = streamOf(answer)
      try {
        yield* timeouts.chunks(stream)
      } finally {
        stream.destroy()
      }
    },
    async recover({ cause, received, delivered, retryLimit }) {
      timeouts.throwIfEnded()
      if (!retryLimit.takeRetry(delivered) || validator === undefined) throw truncatedError(received, cause)
      await timeouts.pause(retryLimit.waitMs(backoffMs))
    },
  })
}

/** Returns true if `one` is before `other`; false if one of the two times is not known. */
function isBefore(one: Date | undefined, other: Date | undefined): boolean {
  return one !== undefined && other !== undefined && one < other
}

/** Parses the address. `pattern`: key, or pattern of keys. @throws RunError SOURCE_REFUSED */
function addressOf(uri: string): { readonly url: URL; readonly bucket: string; readonly pattern: string } {
  const rejectionError = (message: string, hint: string) => new RunError('SOURCE_REFUSED', message, { where: 'source.url', hint })
  if (!URL.canParse(uri)) throw rejectionError('the address cannot be read', 'Write s3://bucket/key.')
  const url = new URL(uri)
  if (url.username !== '' || url.password !== '')
    throw rejectionError('the address contains credentials', 'Name environment variables under `source.credentials`.')
  if (url.hash !== '' || /[\r\n\t\0]/.test(uri))
    throw rejectionError(
      'the key of the address ends before a # or a control character',
      'Write # as %23, a line end as %0A and a tab as %09.',
    )
  // Otherwise `?` in a key would end it, and another object would be read.
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'endpoint' && name !== 'region')
  if (unknown !== undefined || (url.search === '' && url.href.endsWith('?')))
    throw rejectionError('the address has a parameter other than endpoint and region', 'If the ? belongs to the key, write it as %3F.')
  if (url.port !== '')
    throw rejectionError('the address names a port in place of a bucket', `Write s3://bucket/key?endpoint=http://${url.host}.`)
  if (url.host === '' || /^\/?$/.test(url.pathname)) throw rejectionError('the address names no object', 'Write s3://bucket/key.')
  try {
    return { url, bucket: url.host, pattern: decodeURIComponent(url.pathname.slice(1)) }
  } catch {
    throw rejectionError('the key of the address cannot be decoded', 'Write % as %25.')
  }
}

function clientOptions(url: URL, definition: SourceDefinition, { env, limits = readLimits }: SourceContext) {
  const endpoint = url.searchParams.get('endpoint') ?? env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL']
  if (endpoint !== undefined) checkUrl(endpoint, definition.allowPrivate)
  // AWS may have a private address (interface endpoints). Other endpoints may have one only with `allow_private`.
  const agent = { lookup: checkedLookup(endpoint === undefined || definition.allowPrivate) }
  const named = (key: string, standard: string) => readCredential(key, definition.credentials, env) ?? env[standard]
  const accessKeyId = named('access_key_id', 'AWS_ACCESS_KEY_ID')
  const secretAccessKey = named('secret_access_key', 'AWS_SECRET_ACCESS_KEY')
  // AWS_SESSION_TOKEN belongs to the credentials of this machine, so it is not used with those of the pipeline.
  const usesKeysOfMachine = definition.credentials?.['access_key_id'] === undefined
  const sessionToken = usesKeysOfMachine
    ? named('session_token', 'AWS_SESSION_TOKEN')
    : readCredential('session_token', definition.credentials, env)
  if (definition.credentials !== undefined && (accessKeyId === undefined) !== (secretAccessKey === undefined))
    throw new RunError('SOURCE_CREDENTIALS', 'the source has only half of its credentials', {
      where: 'source.credentials',
      hint: 'Name both `access_key_id` and `secret_access_key`.',
    })
  return {
    region: url.searchParams.get('region') ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? 'us-east-1',
    maxAttempts,
    // Without `throwOnRequestTimeout`, the timeout only logs a warning.
    requestHandler: {
      requestTimeout: limits.idleMs,
      connectionTimeout: 15_000,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
    // Many other stores do not support buckets as host names.
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true, responseChecksumValidation: 'WHEN_REQUIRED' as const }),
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : { credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) } }),
  }
}

interface KeySearch {
  readonly bucket: string
  readonly pattern: string
  readonly label: string
  readonly signal: AbortSignal
}

/** Returns the pattern if it is a key, else the newest key that matches. @throws RunError SOURCE_MISSING */
async function newestKey(client: S3Client, { bucket, pattern, label, signal }: KeySearch): Promise<string> {
  const wildcardAt = pattern.search(wildcard)
  if (wildcardAt === -1) return pattern
  const { paginateListObjectsV2 } = await import('@aws-sdk/client-s3')
  let newest: Match | undefined
  // `stopOnSameToken` ends the loop if a store repeats one page forever.
  for await (const page of paginateListObjectsV2(
    { client, stopOnSameToken: true },
    { Bucket: bucket, Prefix: pattern.slice(0, wildcardAt) },
    { abortSignal: signal },
  )) {
    for (const { Key, LastModified } of page.Contents ?? []) {
      if (Key === pattern) return pattern
      if (Key !== undefined && matchesGlob(Key, pattern))
        newest = newerMatch(newest, { name: Key, changedAt: LastModified?.getTime() ?? 0 }, pattern)
    }
  }
  if (newest === undefined)
    throw new RunError('SOURCE_MISSING', 'no finished object matches the pattern', {
      where: label,
      hint: 'Check the bucket and the pattern in `source.url`.',
    })
  return newest.name
}

function endOf(answer: GetObjectCommandOutput): TransportEnd {
  return {
    ...(answer.ContentLength === undefined ? { reason: 'the store declared no length' } : { proof: 'content-length met' }),
    ...(answer.ETag === undefined ? {} : { etag: answer.ETag }),
    ...(answer.LastModified === undefined ? {} : { lastModified: answer.LastModified.toUTCString() }),
  }
}

/** Returns the body. In Node it is a readable stream. Its type also permits the streams of browsers. */
function streamOf({ Body: body }: GetObjectCommandOutput): Readable {
  if (body instanceof Readable) return body
  throw new TypeError('the S3 client returned no stream of Node')
}

/** Throws if the store sent a part although the whole object was requested, or used an unsupported compression. */
function rejectUnusable(firstAnswer: GetObjectCommandOutput, where: string): void {
  const { ContentRange: range, ContentEncoding: coding = '' } = firstAnswer
  const isWhole = range === undefined && firstAnswer.$metadata.httpStatusCode !== 206
  if (isWhole && isReadableCoding(coding)) return
  if (firstAnswer.Body !== undefined) streamOf(firstAnswer).destroy()
  throw isWhole
    ? codingError(coding, where)
    : new RunError('SOURCE_UNAVAILABLE', 'the store sent only a part of the object', {
        where,
        hint: 'Contact the operator of the store; a proxy in between may be the cause.',
      })
}

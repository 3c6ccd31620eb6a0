import { matchesGlob } from 'node:path'
import type { GetObjectCommandOutput, S3Client } from '@aws-sdk/client-s3'
import { RunError } from '../errors.ts'
import { readLimits } from '../formats/limits.ts'
import type { SourceDefinition } from '../pipeline/definition.ts'
import type { ByteStream, TransportEnd } from './byteStream.ts'
import { readCredential } from './credentials.ts'
import { checkUrl } from './httpAddress.ts'
import type { SourceContext } from './openedSource.ts'

type Env = Readonly<Record<string, string | undefined>>

const maxTries = 4

/**
 * Opens `s3://bucket/key`, or the newest key that matches a pattern; other stores by `?endpoint=https://…`, or
 * AWS_ENDPOINT_URL. Credentials: `access_key_id`, `secret_access_key`, `session_token` name variables, else those of
 * AWS. Conditional on the last ETag; resumed with If-Match when the connection is cut.
 *
 * @returns `unchanged` when the store answers 304
 * @throws RunError SOURCE_REFUSED, SOURCE_DENIED, SOURCE_MISSING, SOURCE_UNAVAILABLE, SOURCE_CHANGED, FILE_TRUNCATED
 */
export async function openS3(definition: SourceDefinition, context: SourceContext): Promise<ByteStream | 'unchanged'> {
  const url = new URL(definition.uri)
  const label = `s3://${url.host}${url.pathname}`
  // Loaded here: 0.3 s and 30 MB that no other source should pay for.
  const { S3Client, GetObjectCommand } = await import('@aws-sdk/client-s3')
  const client = new S3Client(clientOptions(url, definition, context.env))
  try {
    const key = await newestKey(client, url.host, decodeURIComponent(url.pathname.slice(1)), label)
    const get = (more: { readonly IfNoneMatch?: string; readonly IfMatch?: string; readonly Range?: string }) =>
      client.send(
        new GetObjectCommand({ Bucket: url.host, Key: key, ...more }),
        context.signal === undefined ? {} : { abortSignal: context.signal },
      )
    const first = await get(context.previous?.etag === undefined ? {} : { IfNoneMatch: context.previous.etag })
    const length = first.ContentLength
    let received = 0
    async function* chunks(): AsyncGenerator<Buffer> {
      let part = first
      for (let tries = 1; ; tries++) {
        try {
          for await (const chunk of bodyOf(part)) {
            received += chunk.length
            yield chunk
          }
          if (length === undefined || received >= length) return
          throw new Error('the object is shorter than its declared length')
        } catch (error) {
          if (tries >= maxTries || first.ETag === undefined) throw cut(label, received, error)
          part = await get({ IfMatch: first.ETag, Range: `bytes=${received}-` }).catch((failure: unknown) => {
            throw statusOf(failure) === 412 ? changed(label, failure) : cut(label, received, failure)
          })
        }
      }
    }
    return {
      label,
      chunks: chunks(),
      end: () => Promise.resolve(endOf(first)),
      close: () => Promise.resolve(client.destroy()),
    }
  } catch (error) {
    client.destroy()
    if (statusOf(error) === 304) return 'unchanged'
    throw s3Error(error, label)
  }
}

function clientOptions(url: URL, definition: SourceDefinition, env: Env) {
  const endpoint = url.searchParams.get('endpoint') ?? env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL']
  if (endpoint !== undefined) checkUrl(endpoint, definition.allowPrivate)
  const named = (key: string, standard: string) => readCredential(key, definition.credentials, env) ?? env[standard]
  const accessKeyId = named('access_key_id', 'AWS_ACCESS_KEY_ID')
  const secretAccessKey = named('secret_access_key', 'AWS_SECRET_ACCESS_KEY')
  const sessionToken = named('session_token', 'AWS_SESSION_TOKEN')
  return {
    region: url.searchParams.get('region') ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? 'us-east-1',
    maxAttempts: maxTries,
    requestHandler: { requestTimeout: readLimits.idleMs, connectionTimeout: 15_000 },
    // Other stores know no buckets as host names.
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true, responseChecksumValidation: 'WHEN_REQUIRED' as const }),
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : { credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) } }),
  }
}

async function newestKey(client: S3Client, bucket: string, key: string, label: string): Promise<string> {
  const wild = key.search(/[*?[{]/)
  if (wild === -1) return key
  const { paginateListObjectsV2 } = await import('@aws-sdk/client-s3')
  let newest: { readonly key: string; readonly at: number } | undefined
  for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: key.slice(0, wild) })) {
    for (const { Key, LastModified } of page.Contents ?? []) {
      const at = LastModified?.getTime() ?? 0
      if (Key !== undefined && matchesGlob(Key, key) && (newest === undefined || at > newest.at || (at === newest.at && Key > newest.key)))
        newest = { key: Key, at }
    }
  }
  if (newest === undefined)
    throw new RunError('SOURCE_MISSING', 'no object matches the pattern', {
      where: label,
      mend: 'Check the bucket and the pattern in `source.url`.',
    })
  return newest.key
}

function bodyOf(answer: GetObjectCommandOutput): AsyncIterable<Buffer> {
  // In Node the body is a readable stream of buffers.
  return answer.Body as unknown as AsyncIterable<Buffer>
}

function endOf(answer: GetObjectCommandOutput): TransportEnd {
  return {
    ...(answer.ContentLength === undefined ? { reason: 'the store declared no length' } : { proof: 'content-length met' }),
    ...(answer.ETag === undefined ? {} : { etag: answer.ETag }),
    ...(answer.LastModified === undefined ? {} : { lastModified: answer.LastModified.toUTCString() }),
  }
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('$metadata' in error)) return undefined
  const metadata = error.$metadata
  return typeof metadata === 'object' && metadata !== null && 'httpStatusCode' in metadata && typeof metadata.httpStatusCode === 'number'
    ? metadata.httpStatusCode
    : undefined
}

function s3Error(error: unknown, where: string): RunError {
  if (error instanceof RunError) return error
  const status = statusOf(error)
  if (status === 404)
    return new RunError('SOURCE_MISSING', 'the store has no such bucket or object', {
      where,
      mend: 'Check bucket and key in `source.url`.',
      cause: error,
    })
  if (status === 401 || status === 403)
    return new RunError('SOURCE_DENIED', `the store answered ${status}`, {
      where,
      mend: 'Check the credentials of this source and what they may read.',
      cause: error,
    })
  const name = error instanceof Error ? ` (${error.name})` : ''
  return new RunError('SOURCE_UNAVAILABLE', `the store cannot be reached${name}`, {
    where,
    mend: 'Check endpoint, region, credentials and network; then run again.',
    cause: error,
  })
}

function changed(where: string, cause: unknown): RunError {
  return new RunError('SOURCE_CHANGED', 'the object changed after the connection was cut', { where, mend: 'Run again.', cause })
}

function cut(where: string, received: number, cause: unknown): RunError {
  return new RunError('FILE_TRUNCATED', `the connection was cut after ${received} bytes`, { where, mend: 'Run again.', cause })
}

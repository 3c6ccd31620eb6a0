import type { SourceDefinition } from '../../model/pipeline.ts'
import type { ByteStream } from '../byteStream.ts'
import { header } from './httpAnswer.ts'
import { ResumableBody } from './httpBody.ts'
import { HttpFetcher, type HttpContext } from './httpFetcher.ts'

/**
 * Fetches a feed with a conditional request (ETag, Last-Modified of the last complete read). Checks every redirect. Resumes with
 * If-Range after a broken connection. Length, last chunk or digest headers prove the end; a closed connection does not.
 *
 * @returns `unchanged` if the server answers 304
 *
 * @throws RunError SOURCE_UNAVAILABLE, SOURCE_DENIED, SOURCE_MISSING, SOURCE_REFUSED, SOURCE_CREDENTIALS; while reading also
 * SOURCE_CHANGED, FILE_TRUNCATED, DIGEST_MISMATCH
 */
export async function openHttp(definition: SourceDefinition, context: HttpContext): Promise<ByteStream | 'unchanged'> {
  const fetcher = new HttpFetcher(definition, context)
  const firstAnswer = await fetcher.fetch(0, undefined).catch(async (error: unknown) => {
    await fetcher.close()
    throw error
  })
  if (firstAnswer === 'unchanged') {
    await fetcher.close()
    return 'unchanged'
  }
  const charset = /charset\s*=\s*"?([\w.:-]+)/i.exec(header(firstAnswer, 'content-type') ?? '')?.[1]
  const body = new ResumableBody(fetcher, firstAnswer)
  return {
    label: fetcher.label,
    chunks: body.read(),
    ...(charset === undefined ? {} : { charset }),
    readBeside: (suffix) => fetcher.fetchBeside(suffix, header(firstAnswer, 'last-modified')),
    end: async () => ({
      ...(await body.end()),
      ...((await fetcher.hasChanged(firstAnswer)) ? { doubt: 'the feed changed on the server while it was read' } : {}),
    }),
    close: () => fetcher.close(),
  }
}

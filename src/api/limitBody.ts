/** Limits the size of request bodies, also of those without a `Content-Length`. */
import type { Context, MiddlewareHandler } from 'hono'

/**
 * Creates middleware that answers with `tooLarge` to a body of more than `maxSize` bytes. Replaces `bodyLimit` of hono 4.13.19. That one
 * copies the request of @hono/node-server, and so fails without `Content-Length` (`curl -X POST` sends none).
 */
export function limitBody(maxSize: number, tooLarge: (c: Context) => Response): MiddlewareHandler {
  return async (c, next) => {
    const { body, headers, method, signal, url } = c.req.raw
    if (body === null) return next()
    if (headers.has('content-length') && !headers.has('transfer-encoding'))
      return Number(headers.get('content-length')) > maxSize ? tooLarge(c) : next()
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of body) {
      size += chunk.length
      if (size > maxSize) return tooLarge(c)
      chunks.push(chunk)
    }
    c.req.raw = new Request(url, { method, headers, signal, body: Buffer.concat(chunks) })
    return next()
  }
}

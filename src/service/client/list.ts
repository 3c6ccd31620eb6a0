/** A listing of the service, read page by page while it is iterated. */
import { InvalidParameterError, RepeatingCursorError } from './serviceErrors.ts'

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Undefined on the last page: the service writes null or nothing. */
  readonly nextCursor: string | undefined
  /** Only where asked for with `with_total_count`. */
  readonly totalCount: number | undefined
}

/**
 * Nothing is sent before it is iterated; each iteration starts again. Memory of one page, and of the ids seen where a
 * listing has more than one page: a cursor that expired restarts it once, and what was given out is not given again
 * (docs/spec-notes.md#unknown 'Expired cursor').
 *
 * Errors: those of the call; `SERVICE_CURSOR_REPEATS` where the service sends a cursor a second time.
 */
export class List<Item> implements AsyncIterable<Item> {
  readonly #fetchPage: (cursor: string | undefined) => Promise<Page<Item>>
  readonly #where: string

  constructor(fetchPage: (cursor: string | undefined) => Promise<Page<Item>>, where: string) {
    this.#fetchPage = fetchPage
    this.#where = where
  }

  /** Pages as they come, without a restart. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const seen = new Set<string>()
    let cursor: string | undefined
    do {
      const page = await this.#fetchPage(cursor)
      yield page
      cursor = page.nextCursor
      if (cursor !== undefined && seen.has(cursor)) {
        throw new RepeatingCursorError('the service gave the same cursor twice', {
          where: this.#where,
          hint: 'List again; if it repeats, use a smaller count or report the endpoint to the service.',
        })
      }
      if (cursor !== undefined) seen.add(cursor)
    } while (cursor !== undefined)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    const given = new Set<string>()
    let restarts = 0
    for (;;) {
      let pages = 0
      try {
        for await (const page of this.pages()) {
          pages += 1
          for (const item of page.items) {
            const id = idOf(item)
            if (id !== undefined && (restarts > 0 || pages > 1 || page.nextCursor !== undefined)) {
              if (restarts > 0 && given.has(id)) continue
              given.add(id)
            }
            yield item
          }
        }
        return
      } catch (error) {
        if (restarts > 0 || pages === 0 || !isExpiredCursor(error)) throw error
        restarts += 1
      }
    }
  }

  async toArray(): Promise<Item[]> {
    return Array.fromAsync(this)
  }
}

function isExpiredCursor(error: unknown): boolean {
  return error instanceof InvalidParameterError && error.issues.some(({ parameter }) => parameter === 'cursor')
}

function idOf(item: unknown): string | undefined {
  if (typeof item !== 'object' || item === null) return undefined
  const { id, media_key: mediaKey } = item as { readonly id?: unknown; readonly media_key?: unknown }
  const key = id ?? mediaKey
  return typeof key === 'string' || typeof key === 'number' || typeof key === 'bigint' ? String(key) : undefined
}

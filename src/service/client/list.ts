/** Reads a list of the service, page by page, while it is iterated. */
import { recordOf } from '../../unknownValue.ts'
import { InvalidParameterError, RepeatingCursorError } from './serviceErrors.ts'

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Undefined on the last page. */
  readonly nextCursor: string | undefined
  /** Number of all records; undefined without `with_total_count`, and after the first page. */
  readonly totalCount: number | undefined
}

/**
 * Yields the pages of a list in order. `fetchPage` gets the cursor of a page; undefined for the first page. `where`: method and path, for
 * the error.
 *
 * @throws {RepeatingCursorError} if the service returns a cursor twice, because the list would never end
 */
export async function* eachPage<P extends { readonly nextCursor: string | undefined }>(
  fetchPage: (cursor: string | undefined) => Promise<P>,
  where: string,
): AsyncGenerator<P, void, undefined> {
  const seen = new Set<string>()
  let cursor: string | undefined
  do {
    const page = await fetchPage(cursor)
    yield page
    cursor = page.nextCursor
    if (cursor !== undefined && seen.has(cursor)) {
      throw new RepeatingCursorError('the service returned the same cursor twice', {
        where,
        hint: 'List again; if it repeats, use a smaller count or report the endpoint to the service.',
      })
    }
    if (cursor !== undefined) seen.add(cursor)
  } while (cursor !== undefined)
}

/**
 * List of records. Each iteration reads it again from the first page.
 *
 * If the service refuses a cursor, the iteration restarts once. Then it omits the records that it has yielded, by their ids (`id`, else
 * `media_key`). Records without an id are yielded again. Memory: one page, and the yielded ids of a list of several pages.
 *
 * Errors: the errors of the call, and `SERVICE_CURSOR_REPEATS` if the service returns a cursor twice.
 */
export class List<Item> implements AsyncIterable<Item> {
  readonly #fetchPage: (cursor: string | undefined) => Promise<Page<Item>>
  readonly #where: string

  /** `fetchPage`, `where`: as in `eachPage`. */
  constructor(fetchPage: (cursor: string | undefined) => Promise<Page<Item>>, where: string) {
    this.#fetchPage = fetchPage
    this.#where = where
  }

  /** Yields the pages in order. Does not restart: throws the error of the call if the service refuses a cursor. */
  pages(): AsyncGenerator<Page<Item>, void, undefined> {
    return eachPage(this.#fetchPage, this.#where)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    const yieldedIds = new Set<string>()
    let restarts = 0
    for (;;) {
      let pageCount = 0
      try {
        for await (const page of this.pages()) {
          pageCount += 1
          for (const item of page.items) {
            const id = idOf(item)
            // A list of a single page has no cursor, and so never restarts. Its ids are not stored.
            if (id !== undefined && (restarts > 0 || pageCount > 1 || page.nextCursor !== undefined)) {
              if (restarts > 0 && yieldedIds.has(id)) continue
              yieldedIds.add(id)
            }
            yield item
          }
        }
        return
      } catch (error) {
        if (restarts > 0 || pageCount === 0 || !isRefusedCursor(error)) throw error
        restarts += 1
      }
    }
  }

  /** Reads all records into memory. */
  async toArray(): Promise<Item[]> {
    return Array.fromAsync(this)
  }
}

/** Returns true if the service refused the cursor, for example because the cursor expired. */
function isRefusedCursor(error: unknown): boolean {
  return error instanceof InvalidParameterError && error.issues.some(({ parameter }) => parameter === 'cursor')
}

function idOf(item: unknown): string | undefined {
  const { id, media_key: mediaKey } = recordOf(item)
  const key = id ?? mediaKey
  return typeof key === 'string' || typeof key === 'number' || typeof key === 'bigint' ? String(key) : undefined
}

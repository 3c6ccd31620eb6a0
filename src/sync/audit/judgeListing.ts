/**
 * What each listed product is to us: compared page by page with what was confirmed, kept as one short row a product in a
 * temporary table. So a million products cost no more memory than one page, and what was not listed is one join at the end.
 */
import type pg from 'pg'
import type { ListedProduct } from '../../destinations/productListing.ts'
import { isWithdrawn } from '../../store/withdrawn.ts'
import { contentHash } from '../read/stageTable.ts'
import { unsettledKeys } from '../plan/todo.ts'
import { canonicalProduct, compareProducts, comparedFields, type ProductContent } from './compareProducts.ts'
import type { ShownDifference } from './report.ts'

/** `open`: not ours to compare, because no content of it was confirmed, or its delete is owed. */
export type Verdict = 'same' | 'changed' | 'gone' | 'hidden' | 'foreign' | 'unsettled' | 'open'

/** Differences that are kept in full, for people; of the others the names of the fields. */
const keptInFull = 1_000
/** Of a value in a report. */
const shownLength = 200

interface KnownProduct {
  readonly ord: string
  readonly held: number | null
  readonly remote_key: string | null
  readonly synced_hash: Buffer | null
  readonly unsettled: boolean
  readonly ours: string | null
  readonly wanted: string | null
}

/**
 * The content that was confirmed of a key `m` with its record `r`: the record's own where nothing else is wanted since, else the
 * frozen bytes of the batch that was confirmed, as long as they are kept. Of withdrawn content the one that is wanted.
 */
const confirmedContent = `case when m.synced_hash = r.hash or ${isWithdrawn('m.synced_hash')} then r.body else (
    select convert_from(substring(b.body from e.byte_offset + 1 for e.byte_length), 'UTF8')
    from sluice.entry e join sluice.batch b on b.id = e.batch_id
    where e.batch_id = m.batch_id and m.key = any(e.keys) and e.hash = m.synced_hash and b.body is not null limit 1) end`

export class Judge {
  readonly #client: pg.PoolClient
  readonly #destinationId: number
  readonly #returned = new Set<string>()
  #changed = 0

  private constructor(client: pg.PoolClient, destinationId: number) {
    this.#client = client
    this.#destinationId = destinationId
  }

  /** Begins: what is unsettled now stays out of it, whatever becomes of it while the catalog is read. */
  static async open(client: pg.PoolClient, destinationId: number): Promise<Judge> {
    await client.query(
      `create temp table audited (key bytea primary key, verdict text not null, listed boolean not null, group_id text, synced_hash bytea, fields text[], detail jsonb);
       create temp table audit_unsettled as ${unsettledKeys(destinationId)};
       create temp table audit_began as select clock_timestamp() as at`,
    )
    return new Judge(client, destinationId)
  }

  /** Fields that no product of the listing had: not returned by this service, so not judged. */
  get notReturned(): readonly string[] {
    return this.#returned.size === 0 ? [] : comparedFields.filter((field) => !this.#returned.has(field))
  }

  /** One page. A product that was given out before is judged anew. */
  async page(listed: readonly ListedProduct[]): Promise<void> {
    const products = [...new Map(listed.map((product) => [product.id, product])).values()]
    if (products.length === 0) return
    const keys = products.map(({ id }) => Buffer.from(id))
    const { rows } = await this.#client.query<KnownProduct>(
      `select k.ord, m.held, m.remote_key, m.synced_hash, exists (select from audit_unsettled u where u.key = k.key) as unsettled,
         case when m.held > 0 and m.synced_hash is not null then ${confirmedContent} end as ours,
         case when m.held > 0 and m.synced_hash <> r.hash then r.body end as wanted
       from unnest($2::bytea[]) with ordinality as k (key, ord)
         left join sluice.remote m on m.destination_id = $1 and m.key = k.key
         left join sluice.record r on r.destination_id = $1 and r.key = k.key`,
      [this.#destinationId, keys],
    )
    const judged = rows.map((known) => {
      // One row a key, by its place in the question.
      const product = products[Number(known.ord) - 1]!
      for (const field in product.fields) this.#returned.add(field)
      return { id: product.id, group: product.fields['item_group_id'], syncedHash: known.synced_hash, ...this.#judge(product, known) }
    })
    await this.#client.query(
      `insert into audited (key, verdict, listed, group_id, synced_hash, fields, detail)
       select k, v, true, g, h, string_to_array(f, ','), d::jsonb
       from unnest($1::bytea[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::text[]) as x (k, v, g, h, f, d)
       on conflict (key) do update set verdict = excluded.verdict, group_id = excluded.group_id, synced_hash = excluded.synced_hash, fields = excluded.fields, detail = excluded.detail`,
      [
        judged.map(({ id }) => Buffer.from(id)),
        judged.map(({ verdict }) => verdict),
        judged.map(({ group }) => (typeof group === 'string' && group !== '' ? group : null)),
        judged.map(({ syncedHash }) => syncedHash),
        judged.map(({ differences }) => (differences.length === 0 ? null : differences.map(({ field }) => field).join(','))),
        judged.map(({ differences, verdict }) => this.#detail(verdict, differences)),
      ],
    )
  }

  /**
   * What is confirmed and was not listed, and what moved meanwhile. A group lists only its first variant (spec 2.2): of a group
   * that is listed, what is not shown may well be there (C1).
   */
  async finish(): Promise<void> {
    const id = this.#destinationId
    await this.#client.query('analyze audited')
    await this.#client.query(
      `insert into audited (key, verdict, listed, synced_hash)
       select o.key, case when o.body is null or (o.body::jsonb ->> 'item_group_id') in (select group_id from audited where group_id is not null) then 'hidden' else 'gone' end,
         false, o.synced_hash
       from (select m.key, m.synced_hash, ${confirmedContent} as body
         from sluice.remote m left join sluice.record r on r.destination_id = m.destination_id and r.key = m.key
         where m.destination_id = ${id} and m.held > 0 and m.synced_hash is not null and not exists (select from audited a where a.key = m.key)) o`,
    )
    await this.#client.query(
      `insert into audit_unsettled ${unsettledKeys(id)}
       union select m.key from sluice.remote m, audit_began b where m.destination_id = ${id} and m.synced_at >= b.at`,
    )
    await this.#client.query(
      `update audited a set verdict = 'unsettled' where exists (select from audit_unsettled u where u.key = a.key) and verdict <> 'unsettled'`,
    )
    await this.#client.query('analyze audited')
  }

  #judge(product: ListedProduct, known: KnownProduct): { readonly verdict: Verdict; readonly differences: readonly ShownDifference[] } {
    if (known.unsettled) return { verdict: 'unsettled', differences: [] }
    if (known.held === null || (known.held <= 0 && known.synced_hash === null)) return { verdict: 'foreign', differences: [] }
    if (known.held <= 0 || known.synced_hash === null) return { verdict: 'open', differences: [] }
    if (known.ours === null) {
      // Its bytes are not kept any more. Equal by their hash they are the same; else there is nothing to compare with.
      const same = contentHash(canonicalProduct(product.fields)).equals(known.synced_hash)
      return { verdict: same ? 'same' : 'unsettled', differences: [] }
    }
    // Our own canonical JSON (records/product).
    const differences: ShownDifference[] = compareProducts(JSON.parse(known.ours) as ProductContent, product.fields)
    if (known.remote_key !== null && product.productKey !== null && known.remote_key !== product.productKey)
      differences.unshift({ field: 'product_key', ours: known.remote_key, theirs: product.productKey })
    if (differences.length === 0) return { verdict: 'same', differences }
    return {
      verdict: 'changed',
      differences: known.wanted === null ? differences : withWanted(differences, JSON.parse(known.wanted) as ProductContent),
    }
  }

  #detail(verdict: Verdict, differences: readonly ShownDifference[]): string | null {
    if (verdict !== 'changed' || ++this.#changed > keptInFull) return null
    return JSON.stringify(
      differences.map((one) => ({
        ...one,
        ours: cut(one.ours),
        theirs: cut(one.theirs),
        ...('wanted' in one ? { wanted: cut(one.wanted) } : {}),
      })),
    )
  }
}

function withWanted(differences: readonly ShownDifference[], wanted: ProductContent): ShownDifference[] {
  return differences.map((one) => {
    const value = wanted[one.field]
    const text = value === undefined || value === null ? null : String(value)
    return text === one.ours || one.field === 'product_key' ? one : { ...one, wanted: text }
  })
}

function cut(text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null
  return text.length <= shownLength ? text : `${text.slice(0, shownLength)}…`
}

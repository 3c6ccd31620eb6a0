/**
 * Compares the products that the service lists with the stored ones. Results go to temporary tables page by page, so only one page is in
 * memory.
 */
import type { Connection } from '../../db/database.ts'
import type { ListedProduct } from '../../destinations/destination.ts'
import { isInvalidated } from '../../db/invalidated.ts'
import type { Outer, DbRow } from '../../db/row.ts'
import { cutText } from '../../cutText.ts'
import { storableText } from '../../storableText.ts'
import { recordOf } from '../../unknownValue.ts'
import { contentHash } from '../read/stageTable.ts'
import { unresolvedKeys } from '../plan/pendingChanges.ts'
import { canonicalJsonOf, comparedFields, differingFields, type ProductContent } from './compareProducts.ts'
import type { ShownDifference } from './report.ts'

/**
 * Result for one product. "Desired": the last read of the source has it. "Confirmed": the service has confirmed the content that Sluice
 * sent.
 *
 * - `same` or `changed`: listed, and the content is or is not the confirmed one. The product_key counts as content.
 * - `notListed`: desired and confirmed, but not listed.
 * - `hidden`: desired, confirmed and not listed, but it may exist. Another variant of its group is listed, or its confirmed content and
 *   group are no longer stored.
 * - `unmanaged`: listed, but neither desired nor confirmed. The service may have confirmed its delete to an earlier run.
 * - `unresolved`: a comparison proves nothing, because a request for the product was unresolved or confirmed during the audit. Also if the
 *   confirmed content is no longer stored, and its stored hash is not that of the listed content.
 * - `unconfirmed`: listed, but not compared. Either it is desired and not confirmed, or it is confirmed and not desired, so its delete is
 *   outstanding.
 */
export type ListingOutcome = 'same' | 'changed' | 'notListed' | 'hidden' | 'unmanaged' | 'unresolved' | 'unconfirmed'

/** Maximum number of changed products whose values are stored. Of further products only the names of the changed fields are stored. */
const maxStoredDetails = 1_000
/** Maximum number of characters of a stored value. */
const maxValueLength = 200

/** Stored data of a listed product. The columns of `remote` are null if the product has no row there. */
type StoredProduct = Outer<DbRow<'remote', 'ref_count' | 'remote_key' | 'synced_hash'>> & {
  /** Position of the product in `keys`, from 1. */
  readonly ord: string
  /** A request for the product was unresolved when the audit began. */
  readonly unresolved: boolean
  /** Confirmed content as JSON; null if the product is not desired, nothing is confirmed, or the content is no longer stored. */
  readonly confirmed: string | null
  /** Desired content as JSON; null unless the product is desired, was confirmed, and is out of sync. */
  readonly desired: string | null
}

/**
 * SQL of the confirmed content of a product as JSON. `m`, `r`: its rows in `remote` and `record`.
 *
 * - The product is in sync: the content of `r`.
 * - Its confirmed hash was invalidated (`db/invalidated.ts`): also the content of `r`, because the hash of the confirmed content is lost.
 * - Otherwise: the bytes of the product in the body of the confirmed request; null if this body is no longer stored.
 */
const confirmedContent = `case when m.synced_hash = r.hash or ${isInvalidated('m.synced_hash')} then r.body else (
    select convert_from(substring(b.body from e.byte_offset + 1 for e.byte_length), 'UTF8')
    from entry e join batch b on b.id = e.batch_id
    where e.batch_id = m.batch_id and m.key = any(e.keys) and e.hash = m.synced_hash and b.body is not null limit 1) end`

/**
 * Classifier of one listing. A connection can have only one, because of its temporary tables. The table `audited` has a row for each
 * product. Its column `fields` has the names of the differing fields, its column `detail` the differences (`ShownDifference`) as JSON.
 */
export class ListingClassifier {
  readonly #tx: Connection
  readonly #destinationId: number
  readonly #returnedFields = new Set<string>()
  #changedCount = 0

  private constructor(tx: Connection, destinationId: number) {
    this.#tx = tx
    this.#destinationId = destinationId
  }

  /** Creates the tables. Products with an unresolved request are not compared, even if it is resolved before `finish`. */
  static async open(tx: Connection, destinationId: number): Promise<ListingClassifier> {
    await tx.query(
      `create temp table audited (
         key bytea primary key, outcome text not null, listed boolean not null, product_key text, group_id text, synced_hash bytea,
         fields text[], detail jsonb);
       create temp table audit_unresolved as ${unresolvedKeys(destinationId)};
       create temp table audit_began as select statement_timestamp() as at`,
    )
    return new ListingClassifier(tx, destinationId)
  }

  /** Returns the compared fields that no listed product had. Empty if no product was listed. */
  get notReturned(): readonly string[] {
    return this.#returnedFields.size === 0 ? [] : comparedFields.filter((field) => !this.#returnedFields.has(field))
  }

  /** Classifies the products of one page. If a product is listed several times, the last one counts. */
  async classifyPage(listed: readonly ListedProduct[]): Promise<void> {
    const lastById = new Map(listed.map((product) => [product.id, product]))
    const products = [...lastById.values()]
    if (products.length === 0) return
    const keys = products.map(({ id }) => Buffer.from(id))
    const rows = await this.#tx.query<StoredProduct>(
      `select k.ord, m.ref_count, m.remote_key, m.synced_hash, exists (select from audit_unresolved u where u.key = k.key) as unresolved,
         case when m.ref_count > 0 and m.synced_hash is not null then ${confirmedContent} end as confirmed,
         case when m.ref_count > 0 and m.synced_hash <> r.hash then r.body end as desired
       from unnest($2::bytea[]) with ordinality as k (key, ord)
         left join remote m on m.destination_id = $1 and m.key = k.key
         left join record r on r.destination_id = $1 and r.key = k.key`,
      [this.#destinationId, keys],
    )
    const classified = rows.flatMap((stored) => {
      const product = products[Number(stored.ord) - 1]
      if (product === undefined) return []
      for (const field in product.fields) this.#returnedFields.add(field)
      return {
        id: product.id,
        productKey: product.productKey,
        group: product.fields['item_group_id'],
        syncedHash: stored.synced_hash,
        ...this.#classify(product, stored),
      }
    })
    await this.#tx.query(
      `insert into audited (key, outcome, listed, product_key, group_id, synced_hash, fields, detail)
       select x.key, x.outcome, true, x.product_key, x.group_id, x.synced_hash, string_to_array(x.fields, ','), x.detail::jsonb
       from unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[])
         as x (key, outcome, product_key, group_id, synced_hash, fields, detail)
       on conflict (key) do update set outcome = excluded.outcome, product_key = excluded.product_key, group_id = excluded.group_id,
         synced_hash = excluded.synced_hash, fields = excluded.fields, detail = excluded.detail`,
      [
        classified.map(({ id }) => Buffer.from(id)),
        classified.map(({ outcome }) => outcome),
        classified.map(({ productKey }) => productKey),
        classified.map(({ group }) => (typeof group === 'string' && group !== '' ? storableText(group) : null)),
        classified.map(({ syncedHash }) => syncedHash),
        classified.map(({ differences }) => (differences.length === 0 ? null : differences.map(({ field }) => field).join(','))),
        classified.map(({ differences, outcome }) => this.#detail(outcome, differences)),
      ],
    )
  }

  /**
   * Adds the products that were not listed, as `notListed` or `hidden`. A listing shows only the first variant of a group (spec 2.2), so
   * another variant may exist (docs/faults.md, C1). Then marks products as `unresolved` if their request was unresolved at the start, is
   * unresolved now, or was confirmed in between.
   */
  async finish(): Promise<void> {
    const destinationId = this.#destinationId
    await this.#tx.query('analyze audited')
    await this.#tx.query(
      `insert into audited (key, outcome, listed, synced_hash)
       select o.key,
         case when o.body is null or (o.body::jsonb ->> 'item_group_id') in (select group_id from audited where group_id is not null)
           then 'hidden' else 'notListed' end,
         false, o.synced_hash
       from (select m.key, m.synced_hash, ${confirmedContent} as body
         from remote m left join record r on r.destination_id = m.destination_id and r.key = m.key
         where m.destination_id = ${destinationId} and m.ref_count > 0 and m.synced_hash is not null
           and not exists (select from audited a where a.key = m.key)) o`,
    )
    await this.#tx.query(
      `insert into audit_unresolved ${unresolvedKeys(destinationId)}
       union select m.key from remote m, audit_began b where m.destination_id = ${destinationId} and m.synced_at >= b.at`,
    )
    await this.#tx.query(
      `update audited a set outcome = 'unresolved'
       where a.outcome <> 'unresolved' and exists (select from audit_unresolved u where u.key = a.key)`,
    )
    await this.#tx.query('analyze audited')
  }

  #classify(
    product: ListedProduct,
    stored: StoredProduct,
  ): { readonly outcome: ListingOutcome; readonly differences: readonly ShownDifference[] } {
    const { ref_count, synced_hash, remote_key, confirmed, desired } = stored
    if (stored.unresolved) return { outcome: 'unresolved', differences: [] }
    const isDesired = ref_count !== null && ref_count > 0
    if (!isDesired && synced_hash === null) return { outcome: 'unmanaged', differences: [] }
    if (!isDesired || synced_hash === null) return { outcome: 'unconfirmed', differences: [] }
    if (confirmed === null) {
      // The confirmed content is no longer stored, but its hash is.
      const isSame = contentHash(canonicalJsonOf(product.fields)).equals(synced_hash)
      return { outcome: isSame ? 'same' : 'unresolved', differences: [] }
    }
    const differences: ShownDifference[] = differingFields(contentOf(confirmed), product.fields)
    if (remote_key !== null && product.productKey !== null && remote_key !== product.productKey)
      differences.unshift({ field: 'product_key', ours: remote_key, theirs: product.productKey })
    if (differences.length === 0) return { outcome: 'same', differences }
    return { outcome: 'changed', differences: desired === null ? differences : withDesired(differences, contentOf(desired)) }
  }

  /**
   * Returns the differences of a changed product as JSON with shortened values. Null for other outcomes, and after `maxStoredDetails`
   * products.
   */
  #detail(outcome: ListingOutcome, differences: readonly ShownDifference[]): string | null {
    if (outcome !== 'changed') return null
    this.#changedCount++
    if (this.#changedCount > maxStoredDetails) return null
    return JSON.stringify(
      differences.map((difference) => ({
        ...difference,
        ours: shortened(difference.ours),
        theirs: shortened(difference.theirs),
        ...(difference.desired === undefined ? {} : { desired: shortened(difference.desired) }),
      })),
    )
  }
}

function contentOf(json: string): ProductContent {
  return recordOf(JSON.parse(json))
}

/** Adds the desired value to each difference whose confirmed value is another. */
function withDesired(differences: readonly ShownDifference[], desired: ProductContent): ShownDifference[] {
  return differences.map((difference) => {
    const value = desired[difference.field]
    const text = value === undefined || value === null ? null : String(value)
    return text === difference.ours || difference.field === 'product_key' ? difference : { ...difference, desired: text }
  })
}

function shortened(text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null
  return storableText(text.length <= maxValueLength ? text : `${cutText(text, maxValueLength)}…`)
}

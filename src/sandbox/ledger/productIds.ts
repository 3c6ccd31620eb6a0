/** Ids of products that a DELETE named by their keys: what a request touches is known by the id (docs/sandbox.md). */
import type { CatalogState } from '../catalogs/state.ts'
import type { SandboxWorld } from '../state/world.ts'

export class ProductIds {
  readonly #world: SandboxWorld
  readonly #known = new Map<string, string>()

  constructor(world: SandboxWorld) {
    this.#world = world
  }

  /**
   * Undefined for a key never heard of. Remembered beyond the product's own life: the DELETE that was applied and not
   * answered comes again.
   */
  readonly of = (catalogId: string, productKey: string): string | undefined => {
    const name = `${catalogId} ${productKey}`
    const id = (this.#world.stateOf('catalogs') as CatalogState).catalogs.get(catalogId)?.idByKey.get(productKey)
    if (id !== undefined) this.#known.set(name, id)
    return id ?? this.#known.get(name)
  }

  clear(): void {
    this.#known.clear()
  }
}

import { htmlEntities } from '../../mapping/htmlEntities.ts'

/**
 * Returns the entities for a strict parser, by name: the five of XML, and with `html` those of HTML. Calls `onUse` with the name at each use
 * of an entity of HTML. The object has no prototype, because `&constructor;` is not an entity.
 */
export function entityTable(html: boolean, onUse: (name: string) => void): Record<string, string> {
  const table: Record<string, string> = Object.create(null)
  Object.assign(table, { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" })
  if (!html) return table
  for (const [name, text] of htmlEntities) {
    const get = () => {
      onUse(name)
      return text
    }
    Object.defineProperty(table, name, { get })
  }
  return table
}

/** Returns true if a text refers to an entity of HTML by name. */
export function namesHtmlEntity(text: string): boolean {
  return [...text.matchAll(/&([A-Za-z][A-Za-z0-9]*);/g)].some(([, name = '']) => htmlEntities.has(name))
}

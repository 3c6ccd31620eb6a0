import { defaultSchema } from '../schemaName.ts'

/**
 * Returns SQL of the key of an advisory lock within the current schema. `name`: SQL of the lock's name. The locks of Postgres belong to the
 * whole database, so without the schema, tenants would wait for each other. The default schema has the keys of earlier versions.
 */
export function schemaLock(name: string): string {
  return `hashtextextended(${name} || case current_schema() when '${defaultSchema}' then '' else ' of ' || current_schema() end, 0)`
}

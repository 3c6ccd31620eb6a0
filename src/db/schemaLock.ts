import { defaultSchema } from '../schemaName.ts'

/**
 * Returns SQL of the key of an advisory lock for the current schema. `name`: SQL of the lock's name. Advisory locks belong to the whole
 * database. Without the schema in the key, two schemas would wait for each other. In the default schema, keys are as in earlier versions.
 */
export function schemaLock(name: string): string {
  return `hashtextextended(${name} || case current_schema() when '${defaultSchema}' then '' else ' of ' || current_schema() end, 0)`
}

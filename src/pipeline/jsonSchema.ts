/** Derives the JSON Schema of pipeline files and of sluice.yaml, for editors, from the schemas that check the files. */
import { z } from 'zod'
import { destinationTypes } from '../destinations/index.ts'
import { listOf, recordOf } from '../unknownValue.ts'
import { projectSchema } from './projectFile.ts'
import { fieldSchema, pipelineSchema, removeSchema } from './schema.ts'

/** JSON Schema, as an object for `JSON.stringify`. */
export type JsonSchema = Record<string, unknown>

/** Texts that editors show, by key of a pipeline file. */
const descriptions: Readonly<Record<string, string>> = {
  schedule: 'Cron expression of five or six fields. Without it the pipeline runs only on request.',
  timezone: 'IANA zone of the schedule; default UTC.',
  overlap: 'Effect of a tick while a run is in progress: skip (default) or queue.',
  source: 'Where rows come from: a path or address, an object with reading options, or a list of these.',
  preset: 'The known export that the columns come from; by default recognized by the header.',
  map: 'Target field: column, list of columns, or an object with column, default and transforms.',
  consent: 'Tests of columns that must all pass before a person is sent.',
  duplicates: 'Of several rows with one key: reject all (default), or keep the last.',
  only: 'Rows to keep, by column: a value or a list of values.',
  except: 'Rows to leave out, by column: a value or a list of values.',
  credentials: 'A named set of sluice.yaml; default: the environment.',
  alerts: 'Receivers of sluice.yaml; default: its alerts.default.',
  stale_after_runs: 'Number of runs with an unchanged source that raise the alert stale; default: never.',
  markets: 'Instead of destination: several destinations by name, each with its own joined file, filters, guards and options.',
  destination: 'The catalog, audience or do-not-reach list to keep in sync.',
  guards: 'Limits that withhold deletes or stop a run.',
  options: 'Normalization: currency, time zone, allowed repairs, value maps.',
}

/**
 * Returns the schema of a pipeline file in draft 7, which editors read. Of the rules between fields, it has only one: either `destination`
 * or `markets` is required. `sluice check` checks all of them.
 */
export function pipelineJsonSchema(): JsonSchema {
  const schema = toJsonSchema(pipelineSchema)
  const properties = propertiesOf(schema)
  for (const [key, description] of Object.entries(descriptions)) properties[key] = { description, ...recordOf(properties[key]) }
  // Two parts are missing: the short form of `source`, which a preprocessor converts, and the fields of `map`, which `resolve.ts` checks.
  const { description, anyOf, ...source } = recordOf(properties['source'])
  properties['source'] = { description, ...source, anyOf: [{ type: 'string', minLength: 1 }, ...listOf(anyOf)] }
  const field = withoutDialect(toJsonSchema(fieldSchema))
  const names = [...new Set(destinationTypes().flatMap(({ fields }) => fields))].filter((name) => name !== 'remove')
  properties['map'] = {
    description: descriptions['map'],
    type: 'object',
    properties: {
      ...Object.fromEntries(names.map((name) => [name, { $ref: '#/definitions/field' }])),
      remove: withoutDialect(toJsonSchema(removeSchema)),
    },
    additionalProperties: false,
  }
  const required = listOf(schema['required']).filter((key) => key !== 'destination')
  return {
    ...schema,
    properties,
    title: 'Sluice pipeline',
    required,
    oneOf: [{ required: ['destination'] }, { required: ['markets'] }],
    definitions: { field },
  }
}

/** Returns the schema of sluice.yaml. `defaults` takes the settings of a pipeline, none of them required. */
export function projectJsonSchema(): JsonSchema {
  const schema = toJsonSchema(projectSchema)
  const { required: _, oneOf: __, $schema: ___, definitions, ...pipeline } = pipelineJsonSchema()
  const properties = { ...propertiesOf(schema), defaults: { ...pipeline, title: 'Defaults of every pipeline' } }
  return { ...schema, properties, title: 'Sluice project', definitions }
}

/** Returns a copy of the properties of an object schema. */
function propertiesOf(schema: JsonSchema): JsonSchema {
  return { ...recordOf(schema['properties']) }
}

/**
 * Converts a schema of zod. A function becomes a schema that accepts any value (`unrepresentable`). Only TypeScript pipelines have
 * functions.
 */
function toJsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', target: 'draft-7' })
}

function withoutDialect(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== '$schema'))
}

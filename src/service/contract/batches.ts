/** Several campaigns, line items or targeting criteria in one request (docs/spec-notes.md#endpoints batch). */
import type { Endpoint } from './endpoint.ts'
import { accountId, body } from './parameter.ts'

const batch = '/12/batch/accounts/:account_id'

/** Fields of each item of a batch body. */
const operation = [
  body('operation_type', 'enum', { required: true, values: ['Create', 'Update', 'Delete'], source: 'docs/spec-notes.md#endpoints batch' }),
  body('params', 'object', { required: true, source: 'docs/spec-notes.md#endpoints batch' }),
] as const

/** Fields that official SDKs keep for themselves and send with the parameters of an operation. */
export const operationMarks: readonly string[] = ['to_delete']

export const batchEndpoints = [
  {
    name: 'campaigns.batch',
    method: 'POST',
    host: 'ads',
    path: `${batch}/campaigns`,
    auth: 'user',
    body: 'json',
    bodyIs: 'array',
    bodyLimit: { entries: 40 },
    parameters: [accountId, ...operation],
    rules: [
      {
        kind: 'other',
        text: 'the body is an array of at most 40 `{operation_type, params}`; all or nothing',
        source: 'docs/spec-notes.md#endpoints batch',
      },
    ],
    answer: { resource: 'campaign', many: true },
    limit: 'ads_writes',
    repeatable: false,
    source: 'docs/spec-notes.md#endpoints batch',
  },
  {
    name: 'lineItems.batch',
    method: 'POST',
    host: 'ads',
    path: `${batch}/line_items`,
    auth: 'user',
    body: 'json',
    bodyIs: 'array',
    bodyLimit: { entries: 40 },
    parameters: [accountId, ...operation],
    rules: [
      {
        kind: 'other',
        text: 'the body is an array of at most 40 `{operation_type, params}`; all or nothing',
        source: 'docs/spec-notes.md#endpoints batch',
      },
    ],
    answer: { resource: 'lineItem', many: true },
    limit: 'ads_writes',
    repeatable: false,
    source: 'docs/spec-notes.md#endpoints batch',
  },
  {
    name: 'targetingCriteria.batch',
    method: 'POST',
    host: 'ads',
    path: `${batch}/targeting_criteria`,
    auth: 'user',
    body: 'json',
    bodyIs: 'array',
    bodyLimit: { entries: 500 },
    parameters: [accountId, ...operation],
    rules: [
      {
        kind: 'other',
        text: 'the body is an array of at most 500 `{operation_type, params}`; all or nothing',
        source: 'docs/spec-notes.md#endpoints batch',
      },
    ],
    answer: { resource: 'targetingCriterion', many: true },
    limit: 'ads_writes',
    repeatable: false,
    source: 'docs/spec-notes.md#endpoints batch',
  },
] as const satisfies readonly Endpoint[]

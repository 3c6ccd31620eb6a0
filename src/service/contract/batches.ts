/** Several campaigns, line items or targeting criteria in one request (spec/gaps.md 8 batch). */
import type { Endpoint } from './endpoint.ts'
import { accountId, body } from './parameter.ts'

const batch = '/12/batch/accounts/:account_id'

/** Fields of each item of a batch body. */
const operation = [
  body('operation_type', 'enum', { required: true, values: ['Create', 'Update', 'Delete'], source: 'spec/gaps.md 8 batch' }),
  body('params', 'object', { required: true, source: 'spec/gaps.md 8 batch' }),
] as const

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
        source: 'spec/gaps.md 8 batch',
      },
    ],
    answer: { resource: 'campaign', many: true },
    limit: 'ads_writes',
    repeatable: false,
    source: 'spec/gaps.md 8 batch',
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
        source: 'spec/gaps.md 8 batch',
      },
    ],
    answer: { resource: 'lineItem', many: true },
    limit: 'ads_writes',
    repeatable: false,
    source: 'spec/gaps.md 8 batch',
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
        source: 'spec/gaps.md 8 batch',
      },
    ],
    answer: { resource: 'targetingCriterion', many: true },
    limit: 'ads_writes',
    repeatable: false,
    source: 'spec/gaps.md 8 batch',
  },
] as const satisfies readonly Endpoint[]

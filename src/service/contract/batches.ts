/** Endpoints that change several campaigns, line items or targeting criteria in one request (docs/spec-notes.md#batches). */
import { createRequest, type Endpoint } from './endpoint.ts'
import { batchLimits } from './limits.ts'
import { accountId, body } from './parameter.ts'

const source = 'docs/spec-notes.md#batches'

/** Fields of each entry of a batch. */
const operation = <const Types extends readonly string[]>(types: Types) =>
  [body('operation_type', 'enum', { required: true, values: types, source }), body('params', 'object', { required: true, source })] as const

/**
 * Internal fields that official SDKs send with the parameters of an operation. The sandbox ignores them, but refuses them with the switch
 * `unknown_parameters: strict`.
 */
export const sdkInternalFields: readonly string[] = ['to_delete']

const batchEndpoint = <const Name extends string, const Resource extends string, const Types extends readonly string[]>(
  name: Name,
  path: string,
  entries: number,
  resource: Resource,
  types: Types,
) =>
  ({
    name,
    ...createRequest,
    path: `/12/batch/accounts/:account_id/${path}`,
    body: 'json',
    bodyIs: 'array',
    bodyLimit: { entries },
    parameters: [accountId, ...operation(types)],
    rules: [
      {
        kind: 'other',
        text: `the body is an array of at most ${entries} entries with \`operation_type\` and \`params\`; all or nothing`,
        source,
      },
    ],
    answer: { resource, many: true },
    source,
  }) as const

const allTypes = ['Create', 'Update', 'Delete'] as const

export const batchEndpoints = [
  batchEndpoint('campaigns.batch', 'campaigns', batchLimits.campaigns.entries, 'campaign', allTypes),
  batchEndpoint('lineItems.batch', 'line_items', batchLimits.lineItems.entries, 'lineItem', allTypes),
  // A criterion is created and deleted, never updated (docs/spec-notes.md#promotion-and-targeting).
  batchEndpoint('targetingCriteria.batch', 'targeting_criteria', batchLimits.targetingCriteria.entries, 'targetingCriterion', [
    'Create',
    'Delete',
  ]),
] as const satisfies readonly Endpoint[]

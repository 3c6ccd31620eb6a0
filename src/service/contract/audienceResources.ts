/** Resources and values of audiences (spec 2.3). */
import { field, recordFields, texts, type Resource } from './resource.ts'

const nullable = { nullable: true } as const

/** Types of identifiers of a user (spec 2.3). Do-not-reach lists accept only those of `doNotReachIdentifiers`. */
export const userIdentifiers = ['email', 'device_id', 'handle', 'service_id', 'phone_number', 'partner_user_id'] as const
/** Types of identifiers of a user of a do-not-reach list. */
export const doNotReachIdentifiers = ['email', 'phone_number'] as const

export const audienceResources = {
  keywordInsights: {
    fields: [field('related_keywords', 'strings', { maxItems: 30 }), field('tweet_volume', 'integers')],
    source: 'spec 2.3',
  },
  audiencePermission: {
    fields: [
      ...texts('id', 'tailored_audience_id'),
      field('custom_audience_id', 'string', {
        optional: true,
        source: 'docs/spec-notes.md#echoes-and-cursors: on the path of custom audiences',
      }),
      field('granted_account_id', 'string'),
      field('permission_level', 'enum', { values: ['READ_ONLY', 'READ_WRITE'] }),
      ...recordFields,
    ],
    source: 'spec 2.3',
  },
  targetedCampaign: {
    fields: [field('campaign_id', 'string'), field('campaign_name', 'string'), field('line_items', 'objects')],
    source: 'spec 2.3',
  },
  targetedLineItem: {
    fields: [field('id', 'string'), field('name', 'string', nullable), field('servable', 'boolean')],
    source: 'spec 2.3',
  },
  batchResult: { fields: [field('success_count', 'integer'), field('total_count', 'integer')], source: 'spec 2.3' },
  doNotReachList: {
    fields: [
      ...texts('id', 'name'),
      field('description', 'string', nullable),
      field('targetable', 'boolean'),
      field('reasons_not_targetable', 'strings'),
      field('list_size', 'integer', nullable),
      ...recordFields,
    ],
    source: 'spec 2.3',
  },
  customAudience: {
    fields: [
      ...texts('id', 'name'),
      field('description', 'string', nullable),
      field('audience_type', 'string'),
      field('audience_size', 'integer', nullable),
      field('targetable', 'boolean'),
      field('reasons_not_targetable', 'strings'),
      field('permission_level', 'enum', { values: ['READ_ONLY', 'READ_WRITE'] }),
      field('owner_account_id', 'string'),
      ...recordFields,
    ],
    source: 'docs/spec-notes.md#custom-audiences',
  },
  audienceEstimate: { fields: [field('audience_size', 'object')], source: 'docs/spec-notes.md#custom-audiences' },
} as const satisfies Readonly<Record<string, Resource>>

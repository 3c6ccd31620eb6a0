/**
 * Defines the campaigns area: accounts, campaigns, line items, their promoted posts and targeting, and statistics (spec 4.5, 4.6;
 * docs/spec-notes.md#campaigns-and-line-items).
 */
import { defineArea } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { accountHandlers } from './accounts.ts'
import { accountSettingsHandlers } from './accountSettings.ts'
import { batchHandlers } from './batch.ts'
import { campaignHandlers } from './campaigns.ts'
import { categoryHandlers } from './categories.ts'
import { applyFeaturesChanged, featureControls, featureHandlers } from './features.ts'
import { lineItemHandlers } from './lineItems.ts'
import { promotionHandlers } from './promotion.ts'
import { lookupHandlers } from './lookups.ts'
import { createCampaignsState } from './seed.ts'
import { statisticsHandlers } from './statistics.ts'
import { trackingTagHandlers } from './trackingTags.ts'

export const campaignsArea = defineArea({
  ref: areaRefs.campaigns,
  createState: createCampaignsState,
  control: featureControls,
  applyEvent: applyFeaturesChanged,
  handlers: {
    ...accountHandlers,
    ...featureHandlers,
    ...categoryHandlers,
    ...campaignHandlers,
    ...lineItemHandlers,
    ...promotionHandlers,
    ...batchHandlers,
    ...lookupHandlers,
    ...trackingTagHandlers,
    ...accountSettingsHandlers,
    ...statisticsHandlers,
  },
})

/** The campaign management area (spec 4.5, 4.6; gaps 8). */
import { defineArea } from '../area.ts'
import { hasPost } from '../posts/state.ts'
import { accountHandlers } from './accounts.ts'
import { batchHandlers } from './batch.ts'
import { campaignHandlers } from './campaigns.ts'
import { categoryHandlers } from './categories.ts'
import { lineItemHandlers } from './lineItems.ts'
import { promotionHandlers } from './promotion.ts'
import { createCampaigns } from './seed.ts'

export const campaignsArea = defineArea({
  name: 'campaigns',
  createState: createCampaigns,
  handlers: {
    ...accountHandlers,
    ...categoryHandlers,
    ...campaignHandlers,
    ...lineItemHandlers,
    ...promotionHandlers(hasPost),
    ...batchHandlers,
  },
})

/** Lists the resources of answers of all areas. */
import { audienceResources } from './audienceResources.ts'
import { authResources } from './authResources.ts'
import { campaignResources } from './campaignResources.ts'
import { catalogResources } from './catalogResources.ts'
import { creativeResources } from './creativeResources.ts'
import { outsideResources } from './outsideResources.ts'
import { postResources } from './postResources.ts'
import { webhookResources } from './webhookResources.ts'

/** All resources, by the name in `Endpoint.answer.resource`. */
export const resources = {
  ...authResources,
  ...catalogResources,
  ...audienceResources,
  ...creativeResources,
  ...campaignResources,
  ...postResources,
  ...webhookResources,
  ...outsideResources,
} as const

export type ResourceName = keyof typeof resources

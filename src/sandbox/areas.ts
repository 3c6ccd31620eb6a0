/** Lists the areas of the sandbox in the order of spec 1. The folder of an area has its name. */
import type { Area } from './area.ts'
import { audiencesArea } from './audiences/area.ts'
import { authArea } from './auth/area.ts'
import { campaignsArea } from './campaigns/area.ts'
import { catalogsArea } from './catalogs/area.ts'
import { creativesArea } from './creatives/area.ts'
import { postsArea } from './posts/area.ts'
import { webhooksArea } from './webhooks/area.ts'

export const areas: readonly Area<unknown>[] = [
  authArea,
  catalogsArea,
  audiencesArea,
  creativesArea,
  campaignsArea,
  postsArea,
  webhooksArea,
]

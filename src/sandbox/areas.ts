/** Every area of the sandbox, one folder each. */
import type { Area } from './area.ts'
import { audiencesArea } from './audiences/area.ts'
import { authArea } from './auth/area.ts'
import { catalogsArea } from './catalogs/area.ts'

export const areas: readonly Area<unknown>[] = [authArea, catalogsArea, audiencesArea]

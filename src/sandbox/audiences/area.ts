/** Defines the audiences area (spec 2.3, 4.3; docs/spec-notes.md#audience-uploads), and the control API's calls that show members. */
import { createHash } from 'node:crypto'
import { ControlText, defineArea } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { isoSeconds } from '../timestamps.ts'
import { joinLines } from '../text.ts'
import { audienceHandlers } from './audiences.ts'
import { doNotReachHandlers } from './doNotReach.ts'
import { estimateAudience, searchKeywords } from './insights.ts'
import { linesOf } from './memberships.ts'
import { permissionHandlers } from './permissions.ts'
import { cloneAudienceState, createAudienceState, loadAudienceState, saveAudienceState, type Audience } from './state.ts'

export const audiencesArea = defineArea({
  ref: areaRefs.audiences,
  createState: createAudienceState,
  cloneState: cloneAudienceState,
  saveState: saveAudienceState,
  loadState: (_world, plain, bytes) => loadAudienceState(plain, bytes),
  handlers: {
    ...audienceHandlers,
    ...permissionHandlers,
    ...doNotReachHandlers,
    'audiences.estimate': estimateAudience,
    'keywords.search': searchKeywords,
  },
  control: {
    'GET /_sandbox/audiences': ({ world, state, rest }) => {
      const audience = state.audiences.get(rest[0] ?? '') ?? state.lists.get(rest[0] ?? '')
      if (audience === undefined) return undefined
      const nowS = world.now() / 1000
      if (rest[1] === undefined) return { ...audience.memberships.count(nowS), digest: membersDigest(audience, nowS) }
      if (rest[1] !== 'identifiers') return undefined
      return new ControlText(
        linesOf(audience.memberships, nowS, ({ type, value, expiresAt }) => `${type}\t${value}\t${isoSeconds(expiresAt * 1000)}\n`),
      )
    },
  },
})

/** Returns one SHA-256, in hex, over a line `type TAB value LF` for each identifier in force, in the order of `sortedInForce`. */
function membersDigest(audience: Audience, nowS: number): string {
  const digest = createHash('sha256')
  const lines = linesOf(audience.memberships, nowS, ({ type, value }) => `${type}\t${value}\n`)
  for (const piece of joinLines(lines)) digest.update(piece)
  return digest.digest('hex')
}

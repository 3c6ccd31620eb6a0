/** Defines the auth area: token endpoints, and the control API's calls that add and list users. */
import { defineArea } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { createAuthState, loadAuthState } from './state.ts'
import { tokenHandlers } from './tokens.ts'
import { addUser, applyAddedUser, listUsers } from './users.ts'

export const authArea = defineArea({
  ref: areaRefs.auth,
  createState: createAuthState,
  loadState: loadAuthState,
  handlers: tokenHandlers,
  control: { 'POST /_sandbox/users': addUser, 'GET /_sandbox/users': listUsers },
  // Reads of a past state use the current users and tokens (`WorldState.readAsOf`).
  isHiddenFromReads: () => true,
  applyEvent: (world, state, event) => {
    if (event.kind === 'user') applyAddedUser(world, state, event)
    else state.bearer = null
  },
})

/** Adds and lists users (`POST` and `GET /_sandbox/users`). An added user gets an access token, and access to the accounts in the body. */
import type { ControlHandler, SandboxUser, World } from '../area.ts'
import { ControlError, readFields } from '../controlError.ts'
import { areaRefs } from '../areaRefs.ts'
import { idOfHandle, v2UserOf } from '../posts/userLookup.ts'
import { isRecord } from '../../unknownValue.ts'
import { textOf } from '../text.ts'
import type { AuthState, UserAdded } from './state.ts'
import { randomText } from './tokens.ts'

export const ACCOUNT_ROLES = ['ACCOUNT_ADMIN', 'AD_MANAGER', 'CREATIVE_MANAGER', 'CAMPAIGN_ANALYST', 'ORGANIC_ANALYST'] as const
export const READ_ONLY_ROLES: readonly string[] = ['CAMPAIGN_ANALYST', 'ORGANIC_ANALYST']

/** Adds a user. Returns the user with the new access token and its secret. @throws {ControlError} */
export const addUser: ControlHandler<AuthState> = ({ world, body }) => {
  const input = readFields(body, ['id', 'screen_name', 'name', 'premium', 'accounts'])
  const { id: givenId, premium = false, accounts = [] } = input
  const id = givenId === undefined ? nextUserId(world) : textOf(givenId)
  const isInexact = typeof givenId === 'number' && !Number.isSafeInteger(givenId)
  if (isInexact || !/^\d{1,19}$/.test(id))
    throw new ControlError('id must be a whole number of at most 19 digits; write it as text from 2^53 on')
  const { screen_name: handle = `user${id.slice(-11)}`, name = handle } = input
  if (typeof handle !== 'string' || !/^\w{1,15}$/.test(handle)) throw new ControlError('screen_name must be 1 to 15 letters, digits and _')
  if (typeof name !== 'string') throw new ControlError('name must be a text')
  if (typeof premium !== 'boolean') throw new ControlError('premium must be true or false')
  if (isTaken(world, id, handle)) throw new ControlError(`the id ${id} or the handle ${handle} is in use`)
  const event: UserAdded = {
    kind: 'user',
    user: { id, name, screenName: handle, premium, createdAt: new Date(world.now()).toISOString() },
    accounts: readAccounts(world, accounts),
    token: `${id}-${randomText(world, 40)}`,
    secret: randomText(world, 45),
  }
  world.recordEvent(areaRefs.auth, event)
  return { ...userView(world, event.user), oauth_token: event.token, oauth_token_secret: event.secret }
}

/** Returns the users who can sign in, with their accounts and roles. */
export const listUsers: ControlHandler<AuthState> = ({ world }) => [...world.users.values()].map((user) => userView(world, user))

/** Applies the event of an added user: stores the user, the access to accounts, and the token. */
export function applyAddedUser(world: World, state: AuthState, { user, accounts, token, secret }: UserAdded): void {
  world.users.set(user.id, user)
  for (const { id, role } of accounts) {
    const account = world.accounts.get(id)
    if (account === undefined) continue
    account.userIds.push(user.id)
    account.roles[user.id] = role
  }
  state.accessTokens.set(token, { token, secret, userId: user.id, access: 'write', active: true })
}

function userView(world: World, user: SandboxUser): Record<string, unknown> {
  const accounts = [...world.accounts.values()].filter((account) => account.userIds.includes(user.id))
  return {
    user_id: user.id,
    screen_name: user.screenName,
    name: user.name,
    premium: user.premium,
    accounts: accounts.map(({ id, roles }) => ({ id, role: roles[user.id] ?? 'ACCOUNT_ADMIN' })),
  }
}

/** Reads the accounts of a new user: ids, or `{ id, role }`. @throws {ControlError} */
function readAccounts(world: World, accounts: unknown): UserAdded['accounts'] {
  if (!Array.isArray(accounts)) throw new ControlError('accounts must be an array of ids or of { "id", "role" }')
  return accounts.map((one: unknown) => {
    const { id, role = 'ACCOUNT_ADMIN' } = isRecord(one) ? one : { id: one }
    if (typeof id !== 'string' || !world.accounts.has(id)) throw new ControlError(`no account ${textOf(id)}`)
    if (!ACCOUNT_ROLES.some((known) => known === role)) throw new ControlError(`role must be one of: ${ACCOUNT_ROLES.join(', ')}`)
    return { id, role: String(role) }
  })
}

/** Returns true if any user has the id or the handle, even a user who cannot sign in. Ignores the case of handles. */
function isTaken(world: World, id: string, handle: string): boolean {
  const posts = world.stateOf(areaRefs.posts)
  return v2UserOf(world, posts, id) !== undefined || idOfHandle(world, posts, handle) !== undefined
}

function nextUserId(world: World): string {
  const posts = world.stateOf(areaRefs.posts)
  let id = 1002
  while (v2UserOf(world, posts, String(id)) !== undefined) id++
  return String(id)
}

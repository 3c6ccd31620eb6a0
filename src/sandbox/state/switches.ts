/**
 * Defines the switches (`PUT /_sandbox/switches`, docs/sandbox.md#switches). A switch chooses a behaviour that the specification leaves
 * open, or sets an option of the sandbox.
 */
import { ControlError } from '../controlError.ts'
import { textOf } from '../text.ts'

interface SwitchDefinition {
  readonly name: string
  /** Number in docs/sandbox.md#switches, accepted as a name too. */
  readonly number?: number
  /** Allowed values. The first is the default. */
  readonly values: readonly [string, ...string[]]
  /** True if any whole number from 0 is allowed too. */
  readonly acceptsNumbers?: boolean
  /** Other spellings of the values. */
  readonly spellings?: Readonly<Record<string, string>>
}

/** All switches. docs/sandbox.md#switches describes their values. */
export const SWITCHES = [
  {
    name: 'audience_users_response',
    number: 1,
    values: ['object', 'array', 'array_of_one'],
    spellings: { array_per_operation: 'array', one: 'array_of_one' },
  },
  { name: 'count_basis', number: 2, values: ['users', 'operations', 'identifiers'] },
  { name: 'operation_order', number: 3, values: ['listed', 'random', 'deletes_first'] },
  { name: 'audience_update', number: 4, values: ['merge', 'replace'] },
  { name: 'duplicate_ids', number: 5, values: ['error', 'absent', 'no_change'], spellings: { error_each: 'error' } },
  { name: 'product_order', number: 6, values: ['request', 'random'] },
  { name: 'error_product_key', number: 7, values: ['null', 'present'] },
  { name: 'product_put', number: 8, values: ['replace', 'merge'] },
  { name: 'product_key_on_write', number: 9, values: ['ignored', 'required'], spellings: { required_if_known: 'required' } },
  {
    name: 'delete_unknown_key',
    number: 10,
    values: ['failed', 'not_found', 'success'],
    spellings: { failed_entry: 'failed', '404': 'not_found' },
  },
  { name: 'dnr_expires_at', number: 11, values: ['optional', 'required'] },
  {
    name: 'over_limit',
    number: 12,
    values: ['split', 'bad_request', 'reset'],
    spellings: { '400': 'bad_request', '400_bytes_413': 'split' },
  },
  { name: 'error_body', number: 13, values: ['json', 'html', 'empty'] },
  { name: 'rate_limit_headers', number: 14, values: ['reset', 'retry_after', 'none'], spellings: { reset_epoch: 'reset' } },
  { name: 'ads_auth', number: 15, values: ['oauth1', 'bearer'], spellings: { oauth_1_0a: 'oauth1' } },
  { name: 'length_unit', number: 16, values: ['code_points', 'utf16', 'bytes'], spellings: { utf_16: 'utf16' } },
  { name: 'readd_key', number: 17, values: ['new', 'same'], spellings: { new_key: 'new' } },
  { name: 'signature_form', number: 18, values: ['base64', 'hex'] },
  { name: 'id_comparison', number: 19, values: ['exact', 'case_blind', 'trimmed'] },
  { name: 'partial_apply', number: 20, values: ['off', 'on'] },
  {
    name: 'delete_reach',
    number: 21,
    values: ['user', 'identifier'],
    spellings: { whole_user: 'user', whole_user_by_any_key: 'user', that_identifier: 'identifier' },
  },
  { name: 'operation_errors', number: 22, values: ['aligned', 'flat'] },
  { name: 'ads_error_codes', number: 23, values: ['string', 'integer'] },
  { name: 'phone_plus', number: 24, values: ['yes', 'no'] },
  { name: 'card_response', values: ['object', 'array'] },
  { name: 'processing_times', values: ['next_read', 'clock'] },
  { name: 'unknown_parameters', values: ['tolerant', 'strict'] },
  { name: 'rate_limits', values: ['on', 'off'] },
  { name: 'global_reads', values: ['2000', '5'] },
  { name: 'upload_limit_per', values: ['user', 'account'] },
  { name: 'raw_reserved', values: ['accept', 'reject'] },
  { name: 'duplicate_oauth', values: ['both', 'rfc'] },
  { name: 'timestamp_window_s', values: ['300'], acceptsNumbers: true },
  { name: 'retry_after_grace_ms', values: ['250'], acceptsNumbers: true },
  { name: 'max_connections', values: ['none'], acceptsNumbers: true },
  { name: 'delete_keys_max', values: ['none'], acceptsNumbers: true },
  { name: 'app_approved', values: ['yes', 'no'] },
  { name: 'group_reads', values: ['first', 'all'] },
  { name: 'ledger_keys', values: ['off', 'on'] },
  { name: 'values_recur', values: ['may', 'never'] },
  { name: 'share_outside_business', values: ['by_feature', 'granted', 'denied'] },
  { name: 'duplicate_posts', values: ['refuse', 'accept'] },
  { name: 'edit_history', values: ['off', 'on'] },
  { name: 'v2_names', values: ['tweet', 'post'] },
  { name: 'v2_auth_errors', values: ['errors', 'problem'] },
  { name: 'crc_period', values: ['spec', 'hourly'] },
  { name: 'webhook_dev_urls', values: ['off', 'on'] },
  { name: 'direction_values', values: ['spec', 'documented'] },
] as const satisfies readonly SwitchDefinition[]

type Switch = (typeof SWITCHES)[number]
export type SwitchName = Switch['name']
/** Type of the values of a switch; `string` where numbers are allowed. */
export type SwitchValue<N extends SwitchName> =
  Extract<Switch, { readonly name: N }> extends { readonly acceptsNumbers: true }
    ? string
    : Extract<Switch, { readonly name: N }>['values'][number]

const DEFINITIONS: readonly SwitchDefinition[] = SWITCHES
const DEFAULTS: ReadonlyMap<string, string> = new Map(DEFINITIONS.map(({ name, values }) => [name, values[0]]))

/** Current values of the switches. */
export class Switches {
  readonly #values = new Map(DEFAULTS)

  get<N extends SwitchName>(name: N): SwitchValue<N> {
    // `set` stores only values of the definition.
    return this.#values.get(name) as SwitchValue<N>
  }

  /**
   * Changes the switches that `input` has by name or number. Null restores the default. Changes nothing if a name or value is wrong.
   *
   * @throws {ControlError} for an unknown name or value
   */
  set(input: Readonly<Record<string, unknown>>): void {
    const changes: [string, string][] = []
    for (const [name, value] of Object.entries(input)) {
      const definition = definitionOf(name)
      changes.push([definition.name, value === null ? definition.values[0] : valueOf(definition, value)])
    }
    for (const [name, value] of changes) this.#values.set(name, value)
  }

  /** Returns the values of all switches by name. */
  all(): Record<string, string> {
    return Object.fromEntries(this.#values)
  }

  /** Returns true for the name of a switch, but not for its number. */
  has(name: string): boolean {
    return DEFAULTS.has(name)
  }

  restoreDefaults(): void {
    for (const [name, value] of DEFAULTS) this.#values.set(name, value)
  }
}

function definitionOf(name: string): SwitchDefinition {
  const definition = DEFINITIONS.find(({ name: own, number }) => own === name || (number !== undefined && String(number) === name))
  if (definition === undefined) throw new ControlError(`no switch "${name}"; there are: ${DEFINITIONS.map((one) => one.name).join(', ')}`)
  return definition
}

/**
 * Returns a value in the spelling of the definition. Ignores case. True and false are `on` and `off`, or `yes` and `no`.
 *
 * @throws {ControlError} for a value that the switch does not have
 */
function valueOf(definition: SwitchDefinition, value: unknown): string {
  if (value === true || value === false) {
    const [whenTrue, whenFalse] = definition.values.includes('on') ? ['on', 'off'] : ['yes', 'no']
    return valueOf(definition, value ? whenTrue : whenFalse)
  }
  const text = textOf(value)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
  const chosen = definition.spellings?.[text] ?? text
  if (definition.values.includes(chosen) || (definition.acceptsNumbers === true && /^\d+$/.test(chosen))) return chosen
  throw new ControlError(
    `switch "${definition.name}" must be one of: ${definition.values.join(', ')}${definition.acceptsNumbers === true ? ', or a whole number' : ''}`,
  )
}

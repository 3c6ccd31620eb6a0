/** Parameters of a call as a handler wants them; the contract has checked their types (verify/validate.ts). */
import type { Call } from './area.ts'

/** A text; null when absent or unset. */
export function textParam(call: Call<unknown>, name: string): string | null {
  const value = call.params[name]
  return typeof value === 'string' ? value : null
}

/** A 64-bit number; null when absent or unset. */
export function longParam(call: Call<unknown>, name: string): bigint | null {
  const value = call.params[name]
  return typeof value === 'bigint' ? value : null
}

/** A comma-separated list; undefined when absent or unset. */
export function listParam(call: Call<unknown>, name: string): readonly string[] | undefined {
  const value = call.params[name]
  return Array.isArray(value) ? (value as string[]) : undefined
}

/** True when no filter was given or it holds `id`. */
export function passes(filter: readonly string[] | undefined, id: string): boolean {
  return filter === undefined || filter.includes(id)
}

/**
 * Logger of every module. Fields are counts, codes and ids; never a key, an identifier or a secret
 * (docs/guarantees.md#no-raw-identifier-at-rest).
 */
export interface Logger {
  readonly debug: (fields: LogFields, message: string) => void
  readonly info: (fields: LogFields, message: string) => void
  readonly warn: (fields: LogFields, message: string) => void
  readonly error: (fields: LogFields, message: string) => void
}

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined | readonly string[]>>

/** Logs nothing. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

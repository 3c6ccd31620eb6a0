import type { CommandRun } from '../context.ts'

/** Command as help and the parser need it. Its code is loaded only when it is called, so that help stays fast. */
export interface CommandEntry {
  readonly name: string
  /** commander's notation: `<needed>`, `[optional]`, `<several...>`. */
  readonly args?: string
  /** Every allowed value of the only argument. */
  readonly choices?: readonly string[]
  readonly summary: string
  /** Shown first by `--help`. Each must parse: a test passes each to the parser. */
  readonly examples: readonly string[]
  readonly options?: readonly OptionEntry[]
  /** Sentences after the options. */
  readonly notes?: readonly string[]
  readonly hidden?: boolean
  /** Sub-commands: `auth login`. */
  readonly commands?: readonly CommandEntry[]
  readonly load?: () => Promise<{ readonly run: CommandRun }>
}

export interface OptionEntry {
  readonly flags: string
  readonly meaning: string
  /** May be given several times: the values become a list. */
  readonly many?: boolean
}

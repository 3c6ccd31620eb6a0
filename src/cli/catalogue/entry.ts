import type { CommandRun } from '../context.ts'

/** One command as help and the parser need it. Its work is loaded when it is called, so that help stays fast. */
export interface CommandEntry {
  readonly name: string
  /** commander's notation: `<needed>`, `[optional]`, `<several...>`. */
  readonly args?: string
  /** All that the only argument may be. */
  readonly choices?: readonly string[]
  readonly summary: string
  /** Shown first by `--help`. Every one of them must parse: a test calls the parser with each. */
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

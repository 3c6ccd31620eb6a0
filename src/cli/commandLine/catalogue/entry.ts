/** Command as help, the parser and shell completion need it. Data only: `loadCommand.ts` has the code. */
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
}

export interface OptionEntry {
  readonly flags: string
  readonly meaning: string
  /** May be given several times: the values become a list. */
  readonly many?: boolean
}

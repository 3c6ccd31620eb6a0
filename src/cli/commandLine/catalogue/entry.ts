/** Description of a command for help, parser and shell completion. `loadCommand.ts` loads the code of the command. */
export interface CommandEntry {
  readonly name: string
  /** Positional arguments in commander's notation: `<needed>`, `[optional]`, `<several...>`. */
  readonly args?: string
  /** Every allowed value of the only argument. */
  readonly choices?: readonly string[]
  readonly summary: string
  /** Command lines that help shows before the usage. A test parses each. */
  readonly examples: readonly string[]
  readonly options?: readonly OptionEntry[]
  /** Paragraphs that help shows last. */
  readonly notes?: readonly string[]
  /** True for a command that uses neither pipeline files nor the database: help and completion leave their options out. */
  readonly standalone?: boolean
  /** True to leave the command out of help and completion. */
  readonly hidden?: boolean
  /** Subcommands, such as `login` of `auth`. A command with subcommands has no code of its own. */
  readonly commands?: readonly CommandEntry[]
}

/** Option of a command. */
export interface OptionEntry {
  /** commander's notation: `-F, --field <key=value>`. */
  readonly flags: string
  readonly meaning: string
  /** True if the option may be repeated. Its values become a list. */
  readonly repeatable?: boolean
}

/**
 * Words that this project does not use, each with the word to write instead. CONTRIBUTING.md explains the rule.
 *
 * Has only words that are wrong nearly everywhere, so that a finding is worth reading. The few exceptions are in `allowed`, each with its
 * reason.
 */
export interface Avoided {
  /** Whole words, lower case. In identifiers each part of a camelCase or snake_case name is one word. */
  readonly words: readonly string[]
  readonly instead: string
}

export const avoided: readonly Avoided[] = [
  { words: ['mend', 'mends', 'mended', 'mending'], instead: 'hint; repair, correct' },
  { words: ['books'], instead: 'counts, statistics' },
  { words: ['brake', 'brakes', 'braked'], instead: 'guard, withheld' },
  { words: ['judge', 'judges', 'judged', 'judging', 'judgement', 'verdict', 'verdicts'], instead: 'classify, outcome, guard result' },
  { words: ['todo'], instead: 'pending changes' },
  { words: ['withdrawn', 'withdraw', 'withdraws', 'withdrawal'], instead: 'invalidated, invalidate' },
  { words: ['owed', 'owes', 'owe'], instead: 'outstanding' },
  { words: ['learn', 'learns', 'learned', 'learning', 'learnt'], instead: 'read, record, update' },
  { words: ['beat', 'beats', 'pump'], instead: 'tick, poll, heartbeat' },
  { words: ['buried', 'bury'], instead: 'expired worker, zombie' },
  { words: ['recut'], instead: 'split' },
  { words: ['culprit', 'culprits', 'guilty', 'innocent'], instead: 'failing record, the other records' },
  { words: ['tell', 'tells', 'told', 'telling'], instead: 'report, log, show, notify; distinguish' },
  { words: ['speak', 'speaks', 'spoken', 'speaking'], instead: 'report, warn; be about' },
  { words: ['whoever', 'somebody', 'nobody', 'anybody', 'everybody'], instead: 'the user, the caller, the operator, no row' },
  { words: ['anew'], instead: 'again, from scratch' },
  { words: ['trail'], instead: 'audit log' },
  { words: ['traits'], instead: 'row statistics' },
  { words: ['patience', 'witness'], instead: 'timeouts, completion marker' },
  { words: ['doors'], instead: 'listeners' },
  { words: ['stray'], instead: 'redactPersonalData' },
  { words: ['rivals', 'rival'], instead: 'conflicting pipelines' },
  { words: ['rescued', 'rescue', 'rescues'], instead: 'recovered, recover' },
  { words: ['foreigners'], instead: 'unmanaged' },
]

/** Sequences of words, in comments, messages and pages. */
export const avoidedPhrases: readonly { readonly phrase: RegExp; readonly instead: string }[] = [
  { phrase: /\bat once\b/i, instead: 'immediately; in one request' },
  { phrase: /\bby itself\b/i, instead: 'automatically, on its own' },
  { phrase: /\bgoes on\b/i, instead: 'resumes, continues' },
  { phrase: /\bin spite of\b/i, instead: 'despite, or say the plain thing' },
  { phrase: /\bcomes? to rest\b/i, instead: 'say the plain thing' },
  { phrase: /\bcontrol door\b/i, instead: 'control API' },
  { phrase: /\btwo hands\b/i, instead: 'independent implementations' },
  { phrase: /\bas wanted\b/i, instead: 'in sync' },
  { phrase: /\bis no valid\b|\bare no valid\b/i, instead: 'is not a valid' },
  { phrase: /\bof ours\b|\bours alone\b/i, instead: 'say the plain thing' },
  { phrase: /\ball well\b/i, instead: 'All checks passed' },
  {
    phrase: /\d (?:[kKMG]?B|bytes|m?s|µs|requests|rows|users|people|transactions|keys|records|operations|identifiers) an? \w+/i,
    instead: 'per',
  },
]

/** Citations of documents that the repository does not have, in the forms that comments used. */
export const unresolvable: readonly RegExp[] = [
  /\b(?:interface|guarantees|design|experience|performance|words|gaps|bad-inputs)\.md\b(?<!docs\/[\w-]+\.md)/,
  /\bgaps \d/,
  /\bguarantees \d/,
  /\bscale \d/,
  /\bdesign \d/,
  /\bexperience \d/,
  /(?<![\w#-])I\d{1,2}(?![\w-])/,
  /\bdecision \d/,
]

/** Openings of docstrings that do not say what the thing is. */
export const docstringOpening = /^(?:What|Whether|Who|Whoever|Whose|Of|That which|Where|How|Told|Here)\b/

export interface Allowed {
  /** Word of the list, or a phrase as it is in the text. */
  readonly word: string
  /** Path or folder in which it is allowed. Everywhere if absent. */
  readonly under?: string
  readonly reason: string
}

export const allowed: readonly Allowed[] = [
  { word: 'mend', under: 'src/pipeline/resolve.ts', reason: 'the former key xml.mend_ampersands, still accepted' },
  { word: 'mend', under: 'src/pipeline/sourceSchema.ts', reason: 'the former key xml.mend_ampersands, still accepted' },
  { word: 'nobody', under: 'src/db/embedded/account.ts', reason: 'a Unix account' },
  { word: 'nobody', under: 'test/integration/cli/run.test.ts', reason: 'an invalid email' },
  { word: 'nobody', under: 'test/integration/db/embedded.test.ts', reason: 'a Unix account' },
  { word: 'mend', under: 'test/integration/inputs/runs.test.ts', reason: 'the former key xml.mend_ampersands, still accepted' },
  { word: 'as wanted', under: 'test/integration/sources/postgres.test.ts', reason: 'a column of a query' },
  { word: 'guarantees.md', under: 'docs', reason: 'links between pages of docs/' },
  { word: 'withdrawn', under: 'docs/inputs.md', reason: 'currencies that a country gave up' },
  { word: 'withdrawn', under: 'src/sync/reports/recordHistory.ts', reason: 'an event of explain --json' },
  { word: 'withdrawn', under: 'src/mapping/consent/words.ts', reason: 'a word of consent columns' },
  { word: 'withdrawn', under: 'src/mapping/consent', reason: 'a word of names of consent columns' },
  { word: 'withdrawal', under: 'src/mapping/consent', reason: 'a word of names of consent columns' },
  { word: 'withdrawn', under: 'test/unit/mapping/consentColumns.test.ts', reason: 'a name of a consent column' },
  { word: 'mended', under: 'src/mapping/rejectCodes.ts', reason: 'the stable code AMPERSAND_MENDED' },
  { word: 'mended', under: 'test/unit', reason: 'the stable code AMPERSAND_MENDED' },
  { word: 'mend', under: 'test/unit/pipeline/load.test.ts', reason: 'the former key xml.mend_ampersands, still accepted' },
]

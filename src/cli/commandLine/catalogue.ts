import { fixedCredentials } from '../../sandbox/area.ts'

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

export interface OptionEntry {
  /** commander's notation: `-F, --field <key=value>`. */
  readonly flags: string
  readonly meaning: string
  /** True if the option may be repeated. Its values become a list. */
  readonly repeatable?: boolean
}

/**
 * Every command, in the order in which help lists them.
 *
 * To add a command: describe it here, write its `run` in `commands/`, and add its loader to `loadCommand.ts`.
 */
export const catalogue: readonly CommandEntry[] = [
  // Before the first run: commands that write and check pipeline files, and check the environment.
  {
    name: 'init',
    args: '[NAME]',
    summary: 'write a pipeline file and .env for a source',
    examples: [
      'sluice init --source exports/crm.csv --sandbox',
      'sluice init shop --source https://shop.example.com/feed.xml --catalog 4001',
      'sluice init --source list.csv --audience 1nmth --account 18ce54d4x5t',
    ],
    options: [
      { flags: '--source <URI>', meaning: 'the source; init reads its first rows' },
      { flags: '--catalog <ID>', meaning: 'the rows are products of this catalog' },
      { flags: '--audience <ID>', meaning: 'the rows are people of this audience' },
      { flags: '--do-not-reach <ID>', meaning: 'the rows are people of this do-not-reach list' },
      { flags: '--account <ID>', meaning: 'the account of the audience or list' },
      { flags: '--sandbox', meaning: 'send to the local sandbox: its ids in the file, its address in .env' },
      { flags: '--map <FIELD=COLUMN>', meaning: 'the column that fills a field; repeat it for more', repeatable: true },
      { flags: '--set <FIELD=VALUE>', meaning: 'a field with one value for every row; repeat it for more', repeatable: true },
      { flags: '--consent <COLUMN=VALUES>', meaning: 'consent column: values for yes, or not:VALUES for no', repeatable: true },
      { flags: '--ignore <COLUMN>', meaning: 'a column that is not about consent; repeat it for more', repeatable: true },
      { flags: '--currency <CODE>', meaning: 'currency of prices without one, such as EUR' },
      { flags: '--country <CODE>', meaning: 'country of phone numbers without one, such as DE' },
      { flags: '--shop <URL>', meaning: 'address of the shop, for an export without links' },
      { flags: '--encoding <LABEL>', meaning: 'encoding of a source that is not UTF-8' },
      { flags: '--member <NAME>', meaning: 'the file to read in a zip with several files' },
      { flags: '--item <ELEMENT>', meaning: 'the element that is one record, in XML that is not a feed' },
      { flags: '--force', meaning: 'replace the pipeline file' },
    ],
    notes: [
      'NAME defaults to the name of the source. On a terminal, init asks for missing values; elsewhere it names their flags. Values in .env are kept.',
    ],
  },
  {
    name: 'check',
    args: '[PIPELINE...]',
    summary: 'validate pipelines, show first mapped records',
    examples: ['sluice check', 'sluice check shop', "sluice check 'shop-*' --json"],
    options: [{ flags: '--rows <N>', meaning: 'rows to read from the start of the source, default 200' }],
    notes: ['Sends nothing. Personal values are masked.'],
  },
  {
    name: 'doctor',
    summary: 'check database, clock, credentials and access',
    examples: ['sluice doctor', 'sluice doctor --json'],
    notes: [
      'Changes nothing at the service; migrates the database, as a run does. Exits 1 when a check failed. Each failed line has its hint.',
    ],
  },
  // Commands that plan, start, stop and pause runs.
  {
    name: 'plan',
    args: '<PIPELINE...>',
    summary: 'show what a run would do; sends nothing',
    examples: ['sluice plan shop', 'sluice plan shop --full --out plan.json', "sluice plan 'shop-*' --markdown"],
    options: [
      { flags: '--full', meaning: 'plan to send everything again' },
      { flags: '--out <FILE>', meaning: 'write the changes to FILE: all as JSON, or the first 200 as Markdown (.md)' },
      { flags: '--markdown', meaning: 'print Markdown, for a pull request' },
    ],
    notes: ['Exits 4 when a guard would withhold something.'],
  },
  {
    name: 'apply',
    args: '<PLAN_ID>',
    summary: 'send a stored plan',
    examples: ['sluice apply p_7Q3F'],
    notes: [
      'A plan is rejected when the synced state or the desired content changed after it was made, or a newer plan replaced it.',
      'Leaves out people who opted out or were suppressed since.',
    ],
  },
  {
    name: 'run',
    args: '<PIPELINE...>',
    summary: 'plan and send',
    examples: ['sluice run shop', "sluice run 'shop-*'", 'sluice run shop --approve-deletes 1180'],
    options: [
      { flags: '--full', meaning: 'send everything again (full refresh)' },
      { flags: '--approve-deletes <N>', meaning: 'approve up to N deletes that a guard would withhold' },
      { flags: '--take-over', meaning: 'send to a destination that another user or application has sent to until now' },
    ],
    notes: ['N is a maximum: with more than N deletes, all are withheld. Exit codes: sluice help exit-codes'],
  },
  {
    name: 'backfill',
    args: '<PIPELINE>',
    summary: 'send the rows of another source; deletes no missing rows',
    examples: ['sluice backfill shop --source late-products.csv'],
    options: [{ flags: '--source <URI>', meaning: 'required: the source to read instead of that of the pipeline' }],
  },
  {
    name: 'rerun',
    args: '<RUN_ID>',
    summary: 'repeat a run, or only what failed in it',
    examples: ['sluice rerun r_81', 'sluice rerun r_81 --failed'],
    options: [{ flags: '--failed', meaning: 'only what failed, was refused or is unresolved' }],
    notes: ['Sends changes to the service, as a run does. Plans that were not applied, and audits, cannot be rerun.'],
  },
  {
    name: 'cancel',
    args: '<RUN_ID>',
    summary: 'stop a run, wherever it runs',
    examples: ['sluice cancel r_81', 'sluice cancel r_81 --reason "wrong feed"'],
    options: [{ flags: '--reason <TEXT>', meaning: 'kept in the audit log with your name' }],
    notes: ['What was confirmed is kept, and the next run resumes from there. The schedule stays as it is.'],
  },
  {
    name: 'pause',
    args: '<PIPELINE...>',
    summary: 'start no run until resumed',
    examples: ['sluice pause shop --reason "feed is being rebuilt"', "sluice pause 'shop-*'"],
    options: [{ flags: '--reason <TEXT>', meaning: 'shown with the pause, kept in the audit log' }],
    notes: ['A run in progress continues: sluice cancel RUN_ID stops it. Each scheduled run is recorded as skipped: paused.'],
  },
  {
    name: 'resume',
    args: '<PIPELINE...>',
    summary: 'start runs again after a pause',
    examples: ['sluice resume shop', "sluice resume 'shop-*'"],
    options: [{ flags: '--reason <TEXT>', meaning: 'kept in the audit log with your name' }],
  },
  // Commands that show pipelines, runs and records, and the commands `audit` and `forget`.
  {
    name: 'status',
    args: '[PIPELINE...]',
    summary: 'each pipeline now, and what needs action',
    examples: ['sluice status', "sluice status 'shop-*' --json"],
    notes: ['One screen: last result, age of the last success, next run or pause. Exits 0; --json lists what needs action as "needs".'],
  },
  {
    name: 'runs',
    args: '[PIPELINE]',
    summary: 'history of runs, newest first',
    examples: ['sluice runs', "sluice runs 'shop-*' --limit 5"],
    options: [{ flags: '--limit <N>', meaning: 'newest N, default 20' }],
  },
  {
    name: 'show',
    args: '<RUN_ID|PLAN_ID>',
    summary: 'one run as a funnel, or the changes of a plan',
    examples: ['sluice show r_81', 'sluice show p_7Q3F --changes'],
    options: [
      { flags: '--changes', meaning: 'every key of the plan: action, fields before and after' },
      { flags: '--markdown', meaning: 'the plan as Markdown, for a pull request' },
    ],
    notes: ['People are shown as shortened digests, never as values.'],
  },
  {
    name: 'rejects',
    args: '<RUN_ID>',
    summary: 'rejected rows of a run, with hints',
    examples: ['sluice rejects r_81', 'sluice rejects r_81 --csv bad.csv', 'sluice rejects r_81 --csv full.csv --from-source'],
    options: [
      { flags: '--csv <FILE>', meaning: "write the merchant's columns and the reasons; - is stdout" },
      { flags: '--from-source', meaning: 'with --csv: full rows, read again from the unchanged source' },
    ],
    notes: ['Personal columns are masked. With --from-source they are not, and FILE gets mode 0600.'],
  },
  {
    name: 'explain',
    args: '<PIPELINE> <KEY>',
    summary: 'one record: live or not, why, and its history',
    examples: ['sluice explain shop SKU-004', 'sluice explain customers jane@example.com --json'],
    notes: [
      'KEY is a product id, a customer key, an email or a phone number. An email or a phone number is hashed immediately and never logged.',
    ],
  },
  {
    name: 'audit',
    args: '<PIPELINE>',
    summary: 'compare the catalog at the service with what was confirmed',
    examples: ['sluice audit shop', 'sluice audit shop --repair', 'sluice audit shop --json'],
    options: [{ flags: '--repair', meaning: 'also plan the corrections, for sluice apply' }],
    notes: [
      "Changes nothing at the service. Exits 3 when products differ from what was confirmed, or could not be compared. Locks the pipeline meanwhile: 100,000 products take up to 15 minutes at the service's limits.",
      'The service lists only the first variant of a group: the others count as hidden, and --repair sends them again. Unmanaged products are reported and never touched.',
    ],
  },
  {
    name: 'forget',
    summary: 'erase a person: suppress, delete from audiences, purge',
    examples: [
      'sluice forget --email jane@example.com --reason "request 4711"',
      'sluice forget --email jane@example.com --phone +12025550123 --json',
      'sluice forget --key C-1042 --pipeline customers',
      'sluice forget --list --json',
    ],
    options: [
      { flags: '--email <ADDRESS>', meaning: 'email of the person; repeat it for more', repeatable: true },
      { flags: '--phone <NUMBER>', meaning: 'phone number with country code; repeat it for more', repeatable: true },
      { flags: '--key <KEY>', meaning: 'customer key in the audience of --pipeline; repeat it for more', repeatable: true },
      { flags: '--pipeline <PIPELINE>', meaning: 'audience of --key, required if there are several' },
      { flags: '--reason <TEXT>', meaning: 'kept in the audit log with your name; no personal data' },
      { flags: '--no-wait', meaning: 'suppress and plan only; the next runs send the deletes' },
      { flags: '--list', meaning: 'receipts of all erasures, at every service' },
      { flags: '--export <FILE>', meaning: 'write the suppressed digests to FILE (mode 0600), to keep beside the backups' },
      { flags: '--replay <FILE>', meaning: 'repeat the erasures in FILE after a backup was restored' },
    ],
    notes: [
      'The person is suppressed first: no run sends them again, even from a new file. An erasure is for one service: that of --pipeline, or of the only audience with --key, else of the environment.',
      'Exits 3 if a delete is not confirmed; the next run sends it. With --no-wait, exits 0.',
      'Values are hashed immediately, never stored or logged. Your shell may keep them in its history.',
    ],
  },
  // Commands that keep running until a signal. `webhooks listen` does so too.
  {
    name: 'serve',
    summary: 'dashboard, API, scheduler, worker, receiver in one process',
    examples: ['sluice serve', 'sluice serve --port 8080 --host 127.0.0.1'],
    options: [
      { flags: '--port <N>', meaning: 'port to listen on, default 8080' },
      { flags: '--host <ADDRESS>', meaning: 'address to listen on, default 127.0.0.1' },
      { flags: '--concurrency <N>', meaning: 'maximum of concurrent requests, default 64; fewer if answers are slow' },
    ],
  },
  {
    name: 'worker',
    summary: 'a worker only, on any machine',
    examples: ['sluice worker', 'sluice worker --concurrency 8'],
    options: [{ flags: '--concurrency <N>', meaning: 'maximum of concurrent requests, default 64; fewer if answers are slow' }],
  },
  {
    name: 'sandbox',
    summary: 'local emulator of the ads API',
    standalone: true,
    examples: ['sluice sandbox', 'sluice sandbox --port 4010 --state sandbox.state'],
    notes: ['To sync again to a sandbox that lost its state: sluice run PIPELINE --full'],
    options: [
      { flags: '--port <N>', meaning: 'port to listen on, default 4010; 0: any free port' },
      { flags: '--state <FILE>', meaning: 'file that keeps the state across restarts' },
      { flags: '--consumer-key <TEXT>', meaning: `default ${fixedCredentials.consumerKey}` },
      { flags: '--consumer-secret <TEXT>', meaning: `default ${fixedCredentials.consumerSecret}` },
      { flags: '--access-token <TEXT>', meaning: `default ${fixedCredentials.accessToken}` },
      { flags: '--access-token-secret <TEXT>', meaning: `default ${fixedCredentials.accessTokenSecret}` },
    ],
  },
  // Commands to sign in to the service and to call it.
  {
    name: 'auth',
    summary: 'sign in, show the user, sign out, get the app-only token',
    examples: ['sluice auth login', 'sluice auth status'],
    commands: [
      {
        name: 'login',
        summary: 'three-legged sign-in, by PIN or local callback',
        standalone: true,
        examples: ['sluice auth login', 'sluice auth login --callback --out .env'],
        options: [
          { flags: '--callback', meaning: 'receive the answer on a local port instead of a PIN' },
          { flags: '--pin <PIN>', meaning: 'finish a sign-in that was started without a terminal' },
          {
            flags: '--out <FILE>',
            meaning:
              'file for the tokens, mode 0600; default: the files of SLUICE_ACCESS_TOKEN_FILE and SLUICE_ACCESS_TOKEN_SECRET_FILE, else .env',
          },
        ],
      },
      {
        name: 'status',
        summary: 'show the signed-in user, its accounts, and missing approvals',
        standalone: true,
        examples: ['sluice auth status'],
      },
      {
        name: 'logout',
        summary: 'invalidate the access token',
        standalone: true,
        examples: ['sluice auth logout'],
      },
      {
        name: 'bearer',
        summary: 'get the app-only token',
        standalone: true,
        examples: ['sluice auth bearer --out bearer.token', 'curl -H "Authorization: Bearer $(sluice auth bearer)" https://…'],
        notes: ['The token is never printed to a terminal: pipe it, or name a file.'],
        options: [
          { flags: '--out <FILE>', meaning: 'write the token to FILE, mode 0600' },
          { flags: '--invalidate', meaning: 'invalidate the token instead of printing it' },
        ],
      },
    ],
  },
  {
    name: 'api',
    args: '<METHOD> <PATH>',
    summary: 'any signed call to the service',
    standalone: true,
    examples: [
      'sluice api GET /12/accounts',
      'sluice api GET /2/users/me -F user.fields=created_at --include',
      'sluice api PUT /12/product_catalogs/4001/products --data @products.json',
    ],
    options: [
      { flags: '-F, --field <key=value>', meaning: 'a parameter; repeat it for more', repeatable: true },
      { flags: '--data <JSON|@FILE|->', meaning: 'JSON body: text, a file, or stdin' },
      { flags: '--paginate', meaning: 'read every page and print their items as one list' },
      { flags: '--include', meaning: 'print status and headers too' },
      { flags: '--bearer', meaning: 'send the app-only token instead of a signature' },
    ],
  },
  // Webhook registrations, and a receiver.
  {
    name: 'webhooks',
    summary: 'registrations and a receiver',
    examples: ['sluice webhooks list', 'sluice webhooks listen --port 8081'],
    commands: [
      {
        name: 'add',
        args: '<URL>',
        summary: 'register an address',
        standalone: true,
        examples: ['sluice webhooks add https://hooks.example.com/sluice'],
      },
      {
        name: 'list',
        summary: 'list registrations and their state',
        standalone: true,
        examples: ['sluice webhooks list'],
      },
      {
        name: 'check',
        args: '<ID>',
        summary: 'request a new challenge; enables the registration again',
        standalone: true,
        examples: ['sluice webhooks check 1234'],
      },
      {
        name: 'remove',
        args: '<ID>',
        summary: 'delete a registration',
        standalone: true,
        examples: ['sluice webhooks remove 1234'],
      },
      {
        name: 'replay',
        args: '<ID>',
        summary: 'deliver the events of a time span again',
        standalone: true,
        examples: ['sluice webhooks replay 1234 --from 202611200000 --to 202611210000'],
        options: [
          { flags: '--from <TIME>', meaning: 'required: start in UTC, yyyymmddhhmm or ISO 8601, at most 5 days ago' },
          { flags: '--to <TIME>', meaning: 'required: end in UTC, yyyymmddhhmm or ISO 8601' },
        ],
      },
      {
        name: 'listen',
        summary: 'run a receiver only; stores events, requests replays',
        examples: ['sluice webhooks listen --port 8081'],
        options: [
          { flags: '--port <N>', meaning: 'port to listen on, default 8081' },
          { flags: '--host <ADDRESS>', meaning: 'address to listen on, default 127.0.0.1' },
          { flags: '--path <PATH>', meaning: 'path of the receiver, default /webhooks' },
        ],
      },
    ],
  },
  // Commands for the database.
  {
    name: 'db',
    summary: 'migrations; stored destinations; the embedded server',
    examples: ['sluice db status', 'psql "$(sluice db url)"'],
    commands: [
      {
        name: 'migrate',
        summary: 'bring the schema up to date',
        examples: ['sluice db migrate', 'sluice db migrate --sql > sluice.sql'],
        options: [{ flags: '--sql', meaning: 'print the SQL for a DBA, with grants; change nothing' }],
      },
      {
        name: 'status',
        summary: 'server, version, migrations',
        examples: ['sluice db status'],
      },
      {
        name: 'url',
        summary: 'address for psql; starts the embedded server and keeps it running',
        examples: ['sluice db url'],
      },
      {
        name: 'adopt',
        summary: 'send from this database, which was restored or copied',
        examples: ['sluice db adopt'],
        notes: ['Run this only if nothing sends from the other database any more. After a restore: docs/operations.md#backup-and-restore'],
      },
      {
        name: 'destinations',
        summary: 'stored destinations, with their pipelines',
        examples: ['sluice db destinations', 'sluice db destinations --json'],
      },
      {
        name: 'remove',
        args: '<DESTINATION>',
        summary: 'delete the state of a destination without a pipeline',
        examples: ['sluice db remove d_3', 'sluice db remove d_3 --yes --reason "audience deleted"'],
        options: [
          { flags: '--yes', meaning: 'delete; without it, only show what would be deleted' },
          { flags: '--reason <TEXT>', meaning: 'kept in the audit log with your name; no personal data' },
        ],
        notes: [
          'For a catalog or an audience that no longer exists at the service, or that Sluice should no longer manage. Nothing is sent: what the service has stays there. Open requests and open deletes of erasures are dropped. The history of runs stays.',
        ],
      },
      { name: 'stop', summary: 'stop the embedded server', examples: ['sluice db stop'] },
    ],
  },
  // Commands for shells and editors, and the demo.
  {
    name: 'completion',
    args: '<SHELL>',
    choices: ['bash', 'zsh', 'fish'],
    summary: 'shell completion for bash, zsh or fish',
    standalone: true,
    examples: ['eval "$(sluice completion bash)"', 'source <(sluice completion zsh)'],
    notes: [
      'Put the line into ~/.bashrc, or into ~/.zshrc below compinit. For fish, once:',
      'sluice completion fish > ~/.config/fish/completions/sluice.fish',
      '',
      'Offers commands, flags, values, pipelines of the folder and newest runs. For a sluice that is installed in a project only, add a function:',
      'sluice() { npx sluice "$@"; }',
    ],
  },
  {
    name: 'schema',
    args: '[FILE_KIND]',
    choices: ['pipeline', 'project'],
    summary: 'JSON Schema of pipeline files or of sluice.yaml, for editors',
    standalone: true,
    examples: ['sluice schema', 'sluice schema project --out .sluice/project.schema.json'],
    options: [{ flags: '--out <FILE>', meaning: 'write the schema to FILE; missing folders are created' }],
    notes: [
      'The first line of a YAML file names its schema: # yaml-language-server: $schema=pipeline.schema.json',
      '`sluice init` writes this line and the schema of pipelines. A schema checks names and shapes; `sluice check` checks everything.',
    ],
  },
  {
    name: '__complete',
    args: '[WORD...]',
    summary: 'candidates for the last word, for shell scripts',
    hidden: true,
    examples: ['sluice __complete -- run ""'],
  },
  {
    name: 'demo',
    summary: 'the samples end to end against the sandbox',
    hidden: true,
    examples: ['npm run demo', 'npm run demo -- --keep'],
    options: [{ flags: '--keep', meaning: 'then serve dashboard, scheduler, worker and sandbox until Ctrl-C' }],
  },
]

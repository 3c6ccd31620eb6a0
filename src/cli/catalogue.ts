import type { CommandRun } from './context.ts'

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

const source = { flags: '--source <URI>', meaning: 'read this source instead of the one in the file' }

export const catalogue: readonly CommandEntry[] = [
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
      { flags: '--source <URI>', meaning: 'what to read; its first rows are looked at' },
      { flags: '--catalog <ID>', meaning: 'the rows are products of this catalog' },
      { flags: '--audience <ID>', meaning: 'the rows are people of this audience' },
      { flags: '--do-not-reach <ID>', meaning: 'the rows are people of this do-not-reach list' },
      { flags: '--account <ID>', meaning: 'the account of the audience or list' },
      { flags: '--sandbox', meaning: 'for the local sandbox: its ids, its address in .env' },
      { flags: '--map <FIELD=COLUMN>', meaning: 'the column of a field; repeat it for more', many: true },
      { flags: '--set <FIELD=VALUE>', meaning: 'one value for every row; repeat it for more', many: true },
      { flags: '--consent <COLUMN=VALUES>', meaning: 'who may be reached: values, with commas', many: true },
      { flags: '--currency <CODE>', meaning: 'of prices without one, such as EUR' },
      { flags: '--country <CODE>', meaning: 'of phone numbers without one, such as DE' },
      { flags: '--shop <URL>', meaning: 'before the links of an export that has none' },
      { flags: '--encoding <LABEL>', meaning: 'of a source that is not UTF-8' },
      { flags: '--force', meaning: 'replace the pipeline file' },
    ],
    notes: [
      'NAME is that of the source where it is left out. What is missing is asked for on a terminal, and named elsewhere. Values in .env stay as they are.',
    ],
    load: () => import('./commands/init.ts'),
  },
  {
    name: 'check',
    args: '[PIPELINE...]',
    summary: 'validate pipelines, show first mapped records',
    examples: ['sluice check', 'sluice check shop', "sluice check 'shop-*' --json"],
    options: [{ flags: '--rows <N>', meaning: 'rows to read from the start of the source, default 200' }],
    notes: ['Reads the first rows only and sends nothing. Personal values are masked.'],
    load: () => import('./commands/check.ts'),
  },
  {
    name: 'doctor',
    summary: 'database, clock, credentials, reach: what is wrong',
    examples: ['sluice doctor', 'sluice doctor --json'],
    notes: ['Only reads. Exits 1 when a check failed; each failed line has its mend.'],
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'plan',
    args: '<PIPELINE>',
    summary: 'what a run would do; sends nothing',
    examples: ['sluice plan shop', 'sluice plan shop --full --out plan.json'],
    options: [
      { flags: '--full', meaning: 'plan to send everything again' },
      { flags: '--out <FILE>', meaning: 'also write the plan as JSON to FILE' },
    ],
    notes: ['Exits 4 when a guard would withhold something.'],
    load: () => import('./commands/plan.ts'),
  },
  {
    name: 'apply',
    args: '<PLAN_ID>',
    summary: 'send exactly a stored plan',
    examples: ['sluice apply p_7Q3F'],
    notes: ['Refused when the synced state moved since the plan was made.'],
    load: () => import('./commands/apply.ts'),
  },
  {
    name: 'run',
    args: '<PIPELINE...>',
    summary: 'plan and send in one',
    examples: ['sluice run shop', "sluice run 'shop-*'", 'sluice run shop --approve-deletes 1180'],
    options: [
      { flags: '--full', meaning: 'send everything again (resync)' },
      { flags: '--approve-deletes <N>', meaning: 'delete, up to N, what a guard would withhold' },
    ],
    notes: ['A ceiling, not a switch: more than N deletes are withheld all the same. What ended how: sluice help exit-codes'],
    load: () => import('./commands/run.ts'),
  },
  {
    name: 'backfill',
    args: '<PIPELINE>',
    summary: 'send a one-off source; never deletes by absence',
    examples: ['sluice backfill shop --source late-products.csv'],
    options: [source],
    load: () => import('./commands/backfill.ts'),
  },
  {
    name: 'rerun',
    args: '<RUN_ID>',
    summary: 'run again, or only what a run left failed',
    examples: ['sluice rerun r_81', 'sluice rerun r_81 --failed'],
    options: [{ flags: '--failed', meaning: 'only what failed, was refused or is unsettled' }],
    load: () => import('./commands/rerun.ts'),
  },
  {
    name: 'cancel',
    args: '<RUN_ID>',
    summary: 'stop a run, wherever it runs',
    examples: ['sluice cancel r_81'],
    notes: ['What was confirmed is kept, and the next run goes on from there. The schedule stays as it is.'],
    load: () => import('./commands/cancel.ts'),
  },
  {
    name: 'runs',
    args: '[PIPELINE]',
    summary: 'history of runs, newest first',
    examples: ['sluice runs', 'sluice runs shop --limit 5'],
    options: [{ flags: '--limit <N>', meaning: 'newest N, default 20' }],
    load: () => import('./commands/runs.ts'),
  },
  {
    name: 'show',
    args: '<RUN_ID>',
    summary: 'one run as a funnel',
    examples: ['sluice show r_81'],
    load: () => import('./commands/show.ts'),
  },
  {
    name: 'rejects',
    args: '<RUN_ID>',
    summary: 'rows that a run could not use, and the mend',
    examples: ['sluice rejects r_81', 'sluice rejects r_81 --csv bad.csv', 'sluice rejects r_81 --csv full.csv --from-source'],
    options: [
      { flags: '--csv <FILE>', meaning: "write the merchant's columns and the reasons; - is stdout" },
      { flags: '--from-source', meaning: 'with --csv: full rows, read again from the unchanged source' },
    ],
    notes: ['Personal columns are masked. With --from-source they are not, and FILE gets mode 0600.'],
    load: () => import('./commands/rejects.ts'),
  },
  {
    name: 'explain',
    args: '<PIPELINE> <KEY>',
    summary: "one record's whole story",
    examples: ['sluice explain shop SKU-004', 'sluice explain customers jane@example.com --json'],
    notes: ['KEY is a product id, a customer key, an email or a phone. It is hashed at once and never logged.'],
    load: () => import('./commands/explain.ts'),
  },
  {
    name: 'audit',
    args: '<PIPELINE>',
    summary: 'read the catalog back: what changed behind us',
    examples: ['sluice audit shop', 'sluice audit shop --repair', 'sluice audit shop --json'],
    options: [{ flags: '--repair', meaning: 'also plan to put right what differs, for sluice apply' }],
    notes: [
      "Sends nothing. Exits 3 where products are not as confirmed, or could not be judged. Holds the pipeline meanwhile: 100,000 products take up to 15 minutes at the service's limits.",
      'Of a group the service lists the first variant only: the others count as hidden, and --repair puts them again. Products of others are reported and never touched.',
    ],
    load: () => import('./commands/audit.ts'),
  },
  {
    name: 'serve',
    summary: 'scheduler, worker and receiver in one process',
    examples: ['sluice serve', 'sluice serve --port 8080 --host 127.0.0.1'],
    options: [
      { flags: '--port <N>', meaning: 'default 8080' },
      { flags: '--host <ADDRESS>', meaning: 'default 127.0.0.1' },
      { flags: '--concurrency <N>', meaning: 'requests in flight, default by latency' },
    ],
    load: () => import('./commands/serve.ts'),
  },
  {
    name: 'worker',
    summary: 'a worker only, on any machine',
    examples: ['sluice worker', 'sluice worker --concurrency 8'],
    options: [{ flags: '--concurrency <N>', meaning: 'requests in flight, default by latency' }],
    load: () => import('./commands/worker.ts'),
  },
  {
    name: 'sandbox',
    summary: 'the whole service, locally',
    examples: ['sluice sandbox', 'sluice sandbox --port 4010 --state sandbox.state'],
    notes: ['What was synced to a sandbox whose state is gone is sent again by: sluice run PIPELINE --full'],
    options: [
      { flags: '--port <N>', meaning: 'default 4010; 0 takes a free one' },
      { flags: '--state <FILE>', meaning: 'keep the state across restarts' },
      { flags: '--consumer-key <TEXT>', meaning: 'instead of sandbox-consumer-key' },
      { flags: '--consumer-secret <TEXT>', meaning: 'instead of sandbox-consumer-secret' },
      { flags: '--access-token <TEXT>', meaning: 'instead of 1001-sandbox-access-token' },
      { flags: '--access-token-secret <TEXT>', meaning: 'instead of sandbox-access-token-secret' },
    ],
    load: () => import('./commands/sandbox.ts'),
  },
  {
    name: 'auth',
    summary: 'sign in, who am I, sign out, app-only token',
    examples: ['sluice auth login', 'sluice auth status'],
    commands: [
      {
        name: 'login',
        summary: 'three-legged sign-in, by PIN or local callback',
        examples: ['sluice auth login', 'sluice auth login --callback --out .env'],
        options: [
          { flags: '--callback', meaning: 'receive the answer on a local port instead of a PIN' },
          { flags: '--pin <PIN>', meaning: 'finish a sign-in that was begun without a terminal' },
          { flags: '--out <FILE>', meaning: 'where the tokens go, mode 0600; default .env' },
        ],
        load: () => import('./commands/authLogin.ts'),
      },
      {
        name: 'status',
        summary: 'who, which accounts, what is missing',
        examples: ['sluice auth status'],
        load: () => import('./commands/authStatus.ts'),
      },
      {
        name: 'logout',
        summary: 'invalidate the access token',
        examples: ['sluice auth logout'],
        load: () => import('./commands/authLogout.ts'),
      },
      {
        name: 'bearer',
        summary: 'get the app-only token',
        examples: ['sluice auth bearer --out bearer.token', 'curl -H "Authorization: Bearer $(sluice auth bearer)" https://…'],
        notes: ['A terminal is shown no token: pipe it, or name a file.'],
        options: [
          { flags: '--out <FILE>', meaning: 'write it to FILE, mode 0600' },
          { flags: '--invalidate', meaning: 'invalidate it instead' },
        ],
        load: () => import('./commands/authBearer.ts'),
      },
    ],
  },
  {
    name: 'api',
    args: '<METHOD> <PATH>',
    summary: 'any signed call to the service',
    examples: [
      'sluice api GET /12/accounts',
      'sluice api GET /2/users/me -F user.fields=created_at --include',
      'sluice api PUT /12/product_catalogs/4001/products --data @products.json',
    ],
    options: [
      { flags: '-F, --field <key=value>', meaning: 'a parameter; repeat it for more', many: true },
      { flags: '--data <JSON|@FILE|->', meaning: 'JSON body: text, a file, or stdin' },
      { flags: '--paginate', meaning: 'follow every page and print all of them as one' },
      { flags: '--include', meaning: 'print status and headers too' },
      { flags: '--bearer', meaning: 'sign with the app-only token' },
    ],
    load: () => import('./commands/api.ts'),
  },
  {
    name: 'webhooks',
    summary: 'registrations and a receiver',
    examples: ['sluice webhooks list', 'sluice webhooks listen --port 8081'],
    commands: [
      {
        name: 'add',
        args: '<URL>',
        summary: 'register an address',
        examples: ['sluice webhooks add https://hooks.example.com/sluice'],
        load: () => import('./commands/webhooksAdd.ts'),
      },
      {
        name: 'list',
        summary: 'what is registered, and whether it is valid',
        examples: ['sluice webhooks list'],
        load: () => import('./commands/webhooksList.ts'),
      },
      {
        name: 'check',
        args: '<ID>',
        summary: 'ask for a new challenge (enables it again)',
        examples: ['sluice webhooks check 1234'],
        load: () => import('./commands/webhooksCheck.ts'),
      },
      {
        name: 'remove',
        args: '<ID>',
        summary: 'delete a registration',
        examples: ['sluice webhooks remove 1234'],
        load: () => import('./commands/webhooksRemove.ts'),
      },
      {
        name: 'replay',
        args: '<ID>',
        summary: 'deliver a span of events again',
        examples: ['sluice webhooks replay 1234 --from 202611200000 --to 202611210000'],
        options: [
          { flags: '--from <TIME>', meaning: 'UTC, yyyymmddhhmm or ISO' },
          { flags: '--to <TIME>', meaning: 'UTC, yyyymmddhhmm or ISO' },
        ],
        load: () => import('./commands/webhooksReplay.ts'),
      },
      {
        name: 'listen',
        summary: 'a receiver on its own',
        examples: ['sluice webhooks listen --port 8081'],
        options: [
          { flags: '--port <N>', meaning: 'default 8081' },
          { flags: '--host <ADDRESS>', meaning: 'default 127.0.0.1' },
          { flags: '--path <PATH>', meaning: 'default /webhooks' },
        ],
        load: () => import('./commands/webhooksListen.ts'),
      },
    ],
  },
  {
    name: 'db',
    summary: 'migrations; the embedded server',
    examples: ['sluice db status', 'psql "$(sluice db url)"'],
    commands: [
      {
        name: 'migrate',
        summary: 'bring the schema up to date',
        examples: ['sluice db migrate'],
        load: () => import('./commands/dbMigrate.ts'),
      },
      {
        name: 'status',
        summary: 'server, version, migrations',
        examples: ['sluice db status'],
        load: () => import('./commands/dbStatus.ts'),
      },
      {
        name: 'url',
        summary: 'address for psql; starts the embedded server and keeps it',
        examples: ['sluice db url'],
        load: () => import('./commands/dbUrl.ts'),
      },
      { name: 'stop', summary: 'stop the embedded server', examples: ['sluice db stop'], load: () => import('./commands/dbStop.ts') },
    ],
  },
  {
    name: 'completion',
    args: '<SHELL>',
    choices: ['bash', 'zsh', 'fish'],
    summary: 'words for the TAB key of bash, zsh or fish',
    examples: ['source <(sluice completion bash)', 'source <(sluice completion zsh)'],
    notes: [
      'Put the line into ~/.bashrc, or into ~/.zshrc below compinit. For fish, once:',
      'sluice completion fish > ~/.config/fish/completions/sluice.fish',
      '',
      'Offers commands, flags and the pipelines of the folder. Where sluice is in a project only, let a function stand in:',
      'sluice() { npx sluice "$@"; }',
    ],
    load: () => import('./commands/completion.ts'),
  },
  {
    name: 'demo',
    summary: 'the samples end to end against the sandbox',
    hidden: true,
    examples: ['npm run demo', 'npm run demo -- --keep'],
    options: [{ flags: '--keep', meaning: 'keep sandbox and database up until Ctrl-C' }],
    load: () => import('./commands/demo.ts'),
  },
]

/** Every error code, with its meaning and a hint, for docs/errors.md. Texts may change, codes never. */

/** Error codes of one topic: a chapter of docs/errors.md. */
export interface ErrorGroup {
  readonly title: string
  /** Facts for every code of the group: the exit code, and whether something was read or sent. */
  readonly note: string
  /** Meaning and hint by code. A third value is a property of the error: `unknownName`. */
  readonly codes: Readonly<Record<string, readonly [meaning: string, hint: string, property?: typeof unknownName]>>
}

/**
 * Property of an error about a name that does not exist, such as an unknown command or run. The message repeats the name. The name may be
 * an email in the wrong place, so the message is printed without personal data. The API answers 404.
 */
const unknownName = 'unknown name'

/** All error codes by topic, in the order of docs/errors.md. */
export const errorGroups = [
  {
    title: 'The call',
    note: 'Exit code 2. Nothing was read or sent.',
    codes: {
      UNKNOWN_COMMAND: ['There is no such command.', 'Use the suggested command, or `sluice --help`.', unknownName],
      UNKNOWN_OPTION: ['The command has no such option.', 'Use the suggested option, or `sluice help COMMAND`.', unknownName],
      MISSING_ARGUMENT: ['An argument, or the value of an option, is missing.', '`sluice help COMMAND` shows the call.'],
      MISSING_OPTION: ['An option that this call needs is missing.', 'Add it as shown.'],
      TOO_MANY_ARGUMENTS: [
        'There are more arguments than the command takes.',
        '`sluice help COMMAND` shows the call. Quote names that contain spaces.',
      ],
      INVALID_VALUE: [
        'An option or a parameter does not accept the value: wrong type, or outside its limits.',
        'Correct the value as shown.',
      ],
      INVALID_JSON: [
        '`--data`, or the body of a request to the HTTP API, is not JSON.',
        'Check the quotes, or put the JSON into a file: `--data @FILE`.',
      ],
      UNKNOWN_PIPELINE: [
        'No file of the pipelines folder has this name.',
        'Use the suggested name; `sluice check` lists all.',
        unknownName,
      ],
      SEVERAL_PIPELINES: ['The name matches several pipelines, and the command takes one.', 'Name one of them.'],
      NO_PIPELINES: [
        'The folder contains no pipeline.',
        '`sluice init --source FILE` writes one; or name another folder with `--pipelines DIR`.',
      ],
      PIPELINES_MISSING: [
        'The folder of pipelines cannot be read.',
        '`sluice init --source FILE` creates it; or name another folder with `--pipelines DIR`.',
      ],
      FILE_EXISTS: [
        'A file of this name exists already, such as the pipeline file of `sluice init`.',
        'Choose another name, or move the file away. `init` replaces a pipeline file with `--force`.',
      ],
      DESTINATION_TAKEN: [
        'Another pipeline already writes to the destination; each would delete what the other sends.',
        'Choose another destination, put both sources into one file (`source:` as a list), or move the other file away.',
      ],
      UNKNOWN_DESTINATION: ['There is no destination with this id.', '`sluice db destinations` lists them.', unknownName],
      DESTINATION_IN_USE: [
        'The destination cannot be removed. A pipeline of the folder uses it, or it is a do-not-reach list, which keeps people out of audiences.',
        'Move the pipeline file away first, as shown.',
      ],
      IDEMPOTENCY_KEY_REUSED: [
        'An earlier request had the same `Idempotency-Key`, but another `full` or `approveDeletes` (409 over HTTP).',
        'Send another key.',
      ],
      OPTIONS_CONFLICT: ['The options cannot be used together.', 'Leave one out, as shown.'],
      UNKNOWN_RUN: [
        'There is no run with this id, or it has expired (after 400 days, or SLUICE_KEEP_RUNS_DAYS).',
        '`sluice runs` lists them.',
        unknownName,
      ],
      UNKNOWN_PLAN: ['There is no plan with this id.', '`sluice plan PIPELINE` makes one.', unknownName],
      UNKNOWN_BATCH: [
        'There is no batch with this number, or its run has expired.',
        '`sluice runs` lists the runs; the dashboard page of a run leads to its batches.',
        unknownName,
      ],
      PLAN_OF_ANOTHER_SERVICE: [
        'The plan belongs to another service, for example the sandbox.',
        '`sluice plan PIPELINE` makes one for this service.',
      ],
      PLAN_OF_ANOTHER_DESTINATION: [
        'The plan was made for another service, or for a destination that the pipeline no longer has. Its deletes cannot be approved.',
        '`sluice plan PIPELINE` makes a plan for the present destination.',
      ],
      RUN_SENT_NOTHING: [
        'The run is an audit or a plan, and its plan was not applied. Such a run sends nothing, but a rerun would send.',
        '`sluice plan PIPELINE` or `sluice audit PIPELINE` repeats it; `sluice run PIPELINE` sends.',
      ],
      RUN_OF_ANOTHER_DESTINATION: [
        'The run went to another service, or to a destination that the pipeline of this folder does not have.',
        'Rerun it in its own environment and folder, or use `sluice run PIPELINE`.',
      ],
      CANNOT_READ_BACK: [
        'The service does not list the members of an audience or a do-not-reach list, so an audit cannot compare them.',
        '`sluice run PIPELINE --full` sends every member again.',
      ],
      APPROVAL_NEEDS_ONE: ['`--approve-deletes` approves the deletes of one pipeline, and several are named.', 'Run them one by one.'],
      PIN_NEEDED: [
        'There is no terminal to ask for the PIN, or no PIN was entered.',
        'Open the printed address, then `sluice auth login --pin PIN`.',
      ],
      NO_PENDING_LOGIN: ['`--pin` completes a sign-in, and none was started in this folder.', '`sluice auth login`'],
    },
  },
  {
    title: 'Configuration',
    note: 'Exit code 2. Nothing was read or sent. All problems are listed.',
    codes: {
      ENVIRONMENT_INVALID: [
        'Environment variables, or the `.env` of the folder, are invalid.',
        '`sluice help environment` describes each.',
      ],
      SERVICE_NOT_CONFIGURED: [
        'The addresses of the service or the credentials are missing.',
        '`sluice sandbox` prints a set to paste into `.env`; `sluice init --sandbox` writes it.',
      ],
      PIPELINE_INVALID: ['A pipeline file is invalid.', 'Correct the lines in the message, then run `sluice check`.'],
      PROJECT_INVALID: ['`sluice.yaml` is invalid.', 'Correct the lines in the message.'],
      PACKAGE_MISSING: [
        'Sluice was installed without its optional packages, and this command needs one of them (exit code 1).',
        '`npm install` with the package that is named, or install Sluice without `--omit=optional`.',
      ],
      WRONG_USER: [
        'The data directory (`.sluice`) was made by another user, for example before `sudo`. It does not work with files of two users.',
        'Run the command as the user in the message. Do not set another `SLUICE_DATA_DIR`: its database would be empty, and Sluice would send everything again.',
      ],
      NODE_MISSING: ['The pinned Node 24 is not installed.', '`npm install --include=optional`, or run Sluice with Node 24.12 or newer.'],
    },
  },
  {
    title: 'Database',
    note: 'Exit code 1. What was confirmed before is kept.',
    codes: {
      DATABASE_UNREACHABLE: [
        'The database server does not answer, its host name cannot be resolved, or it has no connection left. The message says which.',
        'Correct host and port in `DATABASE_URL`, start the server, or free connections. Do not use another database: an empty one would create every record again.',
      ],
      DATABASE_LOGIN_REFUSED: [
        'The database server refused role or password, or `pg_hba.conf` does not allow the login.',
        'Correct role and password in `DATABASE_URL`, or add the login to `pg_hba.conf`.',
      ],
      DATABASE_MISSING: ['The server has no database of this name.', 'Correct the name in `DATABASE_URL`, or create the database.'],
      DATABASE_TLS_FAILED: [
        'The certificate of the database server is not trusted, not valid, or of another host; or the server offers no TLS.',
        'Add `sslrootcert=/path/ca.pem` to `DATABASE_URL`, or set `NODE_EXTRA_CA_CERTS`.',
      ],
      DATABASE_TOO_OLD: ['The server is older than Postgres 15.', 'Upgrade it; `pg_upgrade` and `pg_dump` keep the synced state.'],
      DATABASE_POOLER: [
        '`DATABASE_URL` points to a pooler in transaction or statement mode, where temporary tables and settings leak between sessions.',
        "Use the database server's own address, or the pooler in session mode (docs/database.md).",
      ],
      DATABASE_UNUSABLE: [
        'The database is read-only, or its encoding cannot store every text. Or the role lacks a privilege or has no connection left. The message says which.',
        'Make the role the owner of a database in UTF-8.',
      ],
      DATABASE_VALUE_INVALID: [
        'The database contains a value that this version of Sluice cannot read. The message names table, column and row.',
        'If a newer version of Sluice wrote the value, upgrade. Otherwise restore the row from a backup.',
      ],
      DATABASE_COPIED: [
        'The destination was last synced from another database: this one is a copy, or was restored from a dump. Nothing was sent.',
        'If this database replaces the other one: `sluice db adopt`. A copy for tests needs other credentials (docs/database.md#copies).',
      ],
      DATABASE_FAILED: ['The database failed during the run.', '`sluice doctor`, then run again: it resumes where it stopped.'],
      POSTGRES_UNAVAILABLE: ['The embedded Postgres cannot run here.', 'Set `DATABASE_URL` to a server of your own; the message says why.'],
      MIGRATION_MISMATCH: [
        'The database was made by another version of Sluice, or a migration was edited.',
        'Run the newest version of Sluice that used this database.',
      ],
    },
  },
  {
    title: 'Runs and plans',
    note: 'Exit code 1, unless the text names another.',
    codes: {
      PIPELINE_HELD: ['Another run has locked the destination (exit code 5).', '`sluice runs PIPELINE` shows which run; wait for it.'],
      PIPELINE_PAUSED: ['An operator paused the pipeline: no run starts (exit code 5; 409 over HTTP).', '`sluice resume PIPELINE`'],
      PLAN_STALE: [
        'The synced state or the desired content changed after the plan was made, or a newer plan replaced it. Nothing was sent.',
        '`sluice plan PIPELINE` makes a new one.',
      ],
      PIPELINE_CHANGED: [
        'The settings that map rows, such as `consent`, have changed since the last read. `rerun --failed` reads nothing, so it would ignore them.',
        '`sluice run PIPELINE` reads the source with the present settings. It also sends what is not confirmed.',
      ],
      OPT_OUTS_UNPLANNED: [
        'People opted out, or may have, in a read that a guard, an error or a killed process stopped before its plan. `rerun --failed` and `backfill` do not read that source, so they would send them.',
        '`sluice run PIPELINE` reads the source. It also sends what is not confirmed.',
      ],
      RUN_INTERRUPTED: [
        'The run was stopped, or its process died or lost its lease. What was confirmed is kept. A worker repeats a run of a schedule.',
        '`sluice run PIPELINE` resumes. Repeat a backfill with `sluice rerun RUN_ID`; a plan, an audit or a backfill from standard input with its own command.',
      ],
      OTHER_CREDENTIALS: [
        'The destination belongs to another user of the service, or to another application (docs/database.md; 409 over HTTP).',
        'Set the credentials of that user, or move the destination to these with `sluice run PIPELINE --take-over`.',
      ],
      TICK_SKIPPED: [
        'The scheduled run did not start, because another run of the destination was in progress or waiting.',
        '`overlap: queue` lets one run wait instead (docs/schedules.md).',
      ],
      RUN_UNCLAIMED: [
        'No running worker has the version of the pipeline that the run requests. The run waited for ten minutes and was skipped.',
        'Start a worker with that version of the pipelines folder, or `sluice run PIPELINE`, which runs the current version.',
      ],
      RUN_CANCELLED: [
        'An operator cancelled the run with `sluice cancel RUN_ID`. What was confirmed is kept.',
        '`sluice run PIPELINE` resumes. Repeat a backfill with `sluice rerun RUN_ID`; a plan, an audit or a backfill from standard input with its own command.',
      ],
      CATALOG_UNREADABLE: [
        'The service did not list the whole catalog, so nothing was compared. Nothing was changed or sent.',
        '`sluice doctor`, then `sluice audit PIPELINE` again.',
      ],
      CREDENTIALS_REFUSED: [
        'The service refuses a credential; the message names its variable. What was confirmed before is kept.',
        'Correct the variable, or `sluice auth login` for a new access token; then `sluice doctor`, and run again.',
      ],
      DESTINATION_PAUSED: [
        'The service refuses the destination as a whole (no access, or it does not exist), or refused 64 requests in a row.',
        '`sluice doctor`, then run again.',
      ],
      OPERATION_TOO_LARGE: ['A single record is larger than a request may be.', 'Shorten its fields.'],
      INTERRUPTED: [
        'The command was stopped by a signal (exit code 130 or 143). The state is safe.',
        'Run the same command again; it resumes.',
      ],
      INTERNAL: ['Internal error of Sluice.', 'Run it again with `SLUICE_LOG_LEVEL=debug` and report the output.'],
      DEMO_INCOMPLETE: ['The samples of the demo are missing.', 'Install Sluice again.'],
    },
  },
  {
    title: 'Dashboard and API',
    note: 'Answers of `serve`. Nothing was started, changed or sent.',
    codes: {
      TOKEN_REQUIRED: [
        '`serve` would be open to other machines without a token (exit code 2).',
        'Set `SLUICE_API_TOKEN`, or listen on 127.0.0.1.',
      ],
      TOKEN_INVALID: [
        'The bearer token is missing or wrong, or the request came through a proxy and the server has no token (401).',
        'Send `Authorization: Bearer $SLUICE_API_TOKEN`.',
      ],
      FOREIGN_HOST: ['The request names a host that is not this server (421).', 'Set `SLUICE_PUBLIC_URL` to the address that people use.'],
      CROSS_SITE: ['Another site sent the request (403).', 'Send it from the dashboard, or without an `Origin` header.'],
      READ_ONLY: [
        'The dashboard is read-only: beyond loopback a proxy must name the signed-in user.',
        'Set `SLUICE_USER_HEADER` to the header in which the proxy sends the user.',
      ],
      CONFIRMATION_WRONG: ['The confirmation does not match the name of the pipeline.', 'Type the name as it is shown.'],
      UNKNOWN_PATH: ['The API has no such path (404).', '`docs/api.md` lists them.', unknownName],
    },
  },
  {
    title: 'Guards',
    note: 'Exit code 4. Upserts were sent unless the text says otherwise; deletes were withheld.',
    codes: {
      GUARD_DELETES: [
        'The deletes are over both limits, `max_delete_count` and `max_delete_percent`.',
        'If the records are meant to be deleted: `sluice run PIPELINE --approve-deletes N`.',
      ],
      GUARD_IDENTIFIERS: [
        'Rows of people are still in the source, but without an identifier that they had before, such as an email. The deletes of these identifiers are over both limits. The usual cause is a column that was moved or renamed.',
        'Compare the lines in the message with the source. If the new values are right: `sluice run PIPELINE --approve-deletes N`.',
      ],
      GUARD_MIN_ROWS: [
        'The source has fewer valid rows than `min_rows`. No approval overrides this.',
        'Check the source; if it is right, lower `min_rows`.',
      ],
      GUARD_ROWS_FELL: [
        'The source has less than half of the valid rows of the last complete read in which no guard fired. Or one of several sources lost more than half of its rows, or is empty.',
        'Check the source; if it is right, approve the number of deletes.',
      ],
      GUARD_IDS_LOST: [
        'More rows than in the last complete read were rejected without a readable id, and products would be deleted. The products of these rows may be among them.',
        '`sluice rejects RUN_ID` lists the rows. Correct the ids, or approve the number of deletes.',
      ],
      GUARD_INCOMPLETE: [
        'The end of the source is not proven, so no row counts as missing.',
        'Export it again, or set `complete:` to what proves the end.',
      ],
      GUARD_REJECTS: [
        'The share of rejected rows is above `max_reject_percent`, in all rows or in those that `only:` and `except:` keep. Nothing was sent.',
        '`sluice rejects RUN_ID` lists the rows. Correct the export, then `sluice check PIPELINE`.',
      ],
    },
  },
  {
    title: 'Sources',
    note: 'Exit code 1. Nothing was sent, and no row counts as missing.',
    codes: {
      SOURCE_MISSING: ['There is nothing at the address.', 'Correct `source.url`.'],
      JOIN_TOO_LARGE: [
        'The joined file does not fit in memory: it has too many ids, or too many different rows of one id.',
        'Join both in the database or export that writes the source.',
      ],
      SOURCE_UNAVAILABLE: ['The source does not answer, its connection broke, or the read took too long.', 'Try again; check the network.'],
      SOURCE_DENIED: ['The source refused the credentials.', 'Check the variables that `source.credentials` names.'],
      SOURCE_CREDENTIALS: ['A variable with a credential of the source is missing or unusable.', 'Set it, or its `…_FILE`.'],
      SOURCE_FORBIDDEN: ['The user of this process may not read the file.', 'Check owner and mode.'],
      SOURCE_REFUSED: [
        'Sluice does not read this address: a folder, a device, a private address, or a redirect to another host.',
        'Name a file or a public https address, or allow the address in the pipeline.',
      ],
      SOURCE_CHANGED: [
        'The source changed during the read; or, for `sluice rejects`, since the run.',
        'Run again once the source is complete.',
      ],
      SOURCE_UNVERIFIED: [
        '`sluice rejects` cannot read the rows from the source. The run did not read it to its end, so later changes cannot be detected.',
        '`sluice rejects RUN_ID --csv FILE` writes the masked rows.',
      ],
      SOURCE_HOST_KEY: ['The SFTP server’s key is not the pinned one.', 'Compare it with the server’s owner before you change `host_key`.'],
      SOURCE_QUERY: ['The query of a `postgres:` source failed.', 'Run the query on its own, for example in psql.'],
      DIGEST_MISMATCH: ['The download does not match the server’s digest.', 'Run again; if it repeats, contact the server’s owner.'],
    },
  },
  {
    title: 'Files',
    note: 'Exit code 1. Nothing was sent, and no row counts as missing.',
    codes: {
      FILE_TRUNCATED: ['The file ends too early.', 'Export or upload it again.'],
      FILE_EMPTY: ['The file is empty.', 'Export it again. An empty file never deletes anything.'],
      FILE_CORRUPT: ['The archive is damaged.', 'Compress or upload it again.'],
      FILE_TRAILING_BYTES: ['Bytes follow the end of the compressed data.', 'Compress it again.'],
      FILE_ARCHIVE: ['The archive has no usable file, or several.', 'Name it with `source.member`.'],
      FILE_DOUBLE_PACKED: ['The file is compressed twice.', 'Compress it once.'],
      FILE_BOMB: ['The decompressed file is far larger than any feed.', 'Check where it comes from.'],
      FILE_TOO_LARGE: ['The file is larger than the limit.', 'Split the export.'],
      FILE_ENCODING: ['The text is not in the encoding that it claims or that was found.', 'Set `source.encoding`, or export as UTF-8.'],
      FILE_MALFORMED: ['The file breaks the rules of its format.', 'Correct the file at the place in the message.'],
      FILE_UNCLOSED_QUOTE: ['A quote is not closed.', 'Close it near the line in the message.'],
      FILE_FAULTY_ROWS: ['Too many rows cannot be read or do not fit the header.', 'Check delimiter and quotes.'],
      FILE_SPREADSHEET_DAMAGE: [
        'A spreadsheet changed many values: exponents, dates made of numbers.',
        'Export again with every column formatted as text.',
      ],
      FILE_MAPPING: ['Many rows have an email where a phone number is mapped, or the reverse.', 'Correct the columns under `map:`.'],
      FILE_NO_HEADER: ['The first row looks like data, not like column names.', 'Add a header, or set `csv.columns`.'],
      FILE_COMMENT_HEADER: ['A comment row is above the header.', 'Set `csv.header_row` to the line of the header.'],
      FILE_DUPLICATE_COLUMN: [
        'Several columns have the same name, and the mapping reads only one of them.',
        'Map all of them, or rename one.',
      ],
      FILE_TOO_MANY_COLUMNS: ['More columns than a feed can have: probably a wrong delimiter.', 'Set `csv.delimiter`.'],
      FILE_COLUMN_MISSING: ['A column that the pipeline maps is not in the file.', 'Correct `map`, or the export.'],
      FILE_FIELD_TOO_LARGE: [
        'One field is longer than 128 KiB: probably a quote is not closed.',
        'Correct the file at the place in the message.',
      ],
      FILE_RECORD_TOO_LARGE: ['One record is longer than 1 MiB.', 'Correct the file at the place in the message.'],
      FILE_TOO_DEEP: ['Elements of the XML are nested too deep.', 'Export it flatter.'],
      FILE_DOCTYPE: ['The XML has a document type or a processing instruction, which may include other files.', 'Export it without these.'],
      FILE_NOT_JSON_LINES: ['An object is spread over several lines.', 'Write one object per line, or a JSON array of objects.'],
      HEADER_MISMATCH: ['The header does not match the settings of the pipeline.', 'Correct `source.csv`.'],
      WRONG_FORMAT: [
        'The file has another format than the pipeline says, or one that Sluice does not read.',
        'Correct `source.format`, or export it in another format.',
      ],
      UNEXPECTED_CONTENT: ['The file is a web page, such as a login page.', 'Open the address in a browser.'],
    },
  },
  {
    title: 'The service',
    note: 'Exit code 1. The message says whether the call may have been carried out.',
    codes: {
      SERVICE_BAD_SIGNATURE: ['The signature was refused.', 'Check the four credentials and this machine’s clock: `sluice doctor`.'],
      SERVICE_TOKEN_INVALID: ['`SLUICE_ACCESS_TOKEN` is invalid or expired (code 89).', '`sluice auth login`'],
      SERVICE_APPLICATION_NOT_APPROVED: [
        'The application of `SLUICE_CONSUMER_KEY` is not approved for this call.',
        'Apply for access at the service.',
      ],
      SERVICE_ACCOUNT_OUT_OF_REACH: [
        'The user may not use this advertising account.',
        'Ask the account’s owner; `sluice auth status` lists the accessible accounts.',
      ],
      SERVICE_PERMISSION_LEVEL: ['The application’s permission level does not include this call.', 'Raise it, then `sluice auth login`.'],
      SERVICE_WRONG_CONTEXT: [
        'The call needs a user but was signed with an app-only token, or the reverse.',
        'Omit `--bearer` for a call that needs a user; add it otherwise.',
      ],
      SERVICE_CALLBACK_NOT_APPROVED: [
        'The callback address is not approved in the application’s settings.',
        'Approve it, or sign in by PIN.',
      ],
      SERVICE_BEARER_REFUSED: [
        'The service refused to issue an app-only token (code 99).',
        'Check consumer key and secret; after many requests, wait.',
      ],
      SERVICE_FORBIDDEN: ['The service does not allow the call.', 'The message contains the reason.'],
      SERVICE_NOT_FOUND: ['The path or the record does not exist.', 'Check the ids.'],
      SERVICE_INVALID_PARAMETER: ['A parameter breaks a rule.', 'The hint names parameter and rule.'],
      SERVICE_REQUEST_TOO_LARGE: ['The body is too large.', 'Send less in one request.'],
      SERVICE_BATCH_REFUSED: ['The batch as a whole was refused.', 'The message names the failing entries.'],
      SERVICE_REFUSED: ['The service refused the call for a reason that has no code of its own.', 'The message contains the reason.'],
      SERVICE_RATE_LIMITED: ['Too many requests.', 'Wait until the time in the message.'],
      SERVICE_UNAVAILABLE: ['The service failed. The call may have been carried out.', 'Try again later.'],
      SERVICE_UNREACHABLE: [
        'The service does not answer. What was confirmed before is kept.',
        '`sluice doctor`; for the sandbox, `sluice sandbox`.',
      ],
      SERVICE_ANSWER_LOST: [
        'The call was sent, and the answer is missing or incomplete. It may have been carried out.',
        'Check at the service whether it was carried out, before you send it again.',
      ],
      SERVICE_ANSWER_UNREADABLE: ['The answer is not of the documented shape.', 'Try again; a gateway may have answered.'],
      SERVICE_CURSOR_REPEATS: ['A list of the service returns the same page again, so it would never end.', 'Report it to the service.'],
      CALL_INVALID: [
        'The client was called with parameters that the contract does not allow, or for a host without an address. Nothing was sent.',
        'Correct the parameter in the message, or set the address.',
      ],
      PIN_REFUSED: [
        'The service refused the PIN: it is wrong, was used before, or is too old.',
        '`sluice auth login`, and enter the new PIN.',
      ],
      LOGIN_DENIED: ['The sign-in was denied in the browser.', '`sluice auth login`'],
      LOGIN_MISMATCH: ['The answer belongs to another sign-in. Nothing was kept.', '`sluice auth login`'],
    },
  },
  {
    title: 'Product sets',
    note: 'Exit code 3; the code is with the set in `productSets`. Products and other sets are sent normally.',
    codes: {
      PRODUCT_SET_NAME_TAKEN: [
        'The catalog has a set of this name that Sluice did not create. It is left as it is, and no second one is created.',
        'Choose another name in `product_sets`, or delete that set at the service.',
      ],
      PRODUCT_SET_UNRESOLVED: [
        'The service did not answer a request about the set, which may have been carried out.',
        '`sluice run PIPELINE` looks for the set and continues.',
      ],
      PRODUCT_SET_TOO_LARGE: [
        'A brand has more products than a set with listed products may have. The set stays as it was.',
        'Map the brand to a custom label (`custom_label_4: brand`) and write the rule for that label.',
      ],
      PRODUCT_SET_EMPTY: [
        'The catalog has no confirmed product of the brand. A set that exists stays as it was.',
        'Correct the brand in `product_sets`, or remove the set from the file.',
      ],
      PRODUCT_SET_KEYS_UNKNOWN: [
        'The service confirmed products of the brand without a `product_key`. A set lists its products by key, so it lacks these.',
        '`sluice run PIPELINE --full` puts all products again, and the answers have their keys.',
      ],
    },
  },
  {
    title: 'The machine',
    note: 'Exit code 1.',
    codes: {
      SANDBOX_STATE_LOCKED: [
        'Another sandbox uses the state file.',
        'Use another file: `--state FILE`. If no other sandbox runs, delete the `.lock` file beside it.',
      ],
      SANDBOX_STATE_DAMAGED: [
        'The state file is damaged, or another version of the sandbox wrote it.',
        'Restore a copy of the file, or delete it to start from the initial state.',
      ],
      PORT_IN_USE: ['Another program uses the port.', 'Choose another with `--port`, or `--port 0` for a free one.'],
      HOST_UNAVAILABLE: ['This machine has no such address, or the host name cannot be resolved.', 'Leave out `--host`.'],
      NO_PERMISSION: ['This user may not use the file or port.', 'Check owner and mode.'],
      OUTPUT_FAILED: [
        'The command ended, but its results could not be written to stdout (a full disk, `/dev/full`). The message says how it ended.',
        'Free some space, or write to another file. `sluice runs` shows what was done.',
      ],
      DISK_FULL: ['The disk is full.', 'Free some space; nothing that was confirmed is lost.'],
      FILE_MISSING: [
        'The path names no file: it does not exist, is too long, or leads through a file or a loop of links.',
        'Correct the path.',
      ],
      NOT_A_FILE: ['The path is a folder, and a file is needed.', 'Name a file.'],
    },
  },
] as const satisfies readonly ErrorGroup[]

type CodesOf<Group> = Group extends { readonly codes: infer Codes } ? keyof Codes : never

/** Code of an error: a heading of docs/errors.md. */
export type ErrorCode = CodesOf<(typeof errorGroups)[number]>

const groups: readonly ErrorGroup[] = errorGroups
const unknownNames: ReadonlySet<string> = new Set(
  groups.flatMap(({ codes }) => Object.entries(codes).flatMap(([code, [, , property]]) => (property === unknownName ? [code] : []))),
)

/** Returns true for an error about a name that does not exist. Its message repeats the name. */
export function isUnknownName(code: ErrorCode): boolean {
  return unknownNames.has(code)
}

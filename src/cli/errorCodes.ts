/** Every code that an error of Sluice may carry, for docs/errors.md: what it means and what to do. Texts may change, codes not. */

export interface ErrorEntry {
  readonly meaning: string
  readonly mend: string
}

export interface ErrorGroup {
  readonly title: string
  /** What all of the group have in common: whether anything was read or sent. */
  readonly note: string
  readonly codes: Readonly<Record<string, ErrorEntry>>
}

const entry = (meaning: string, mend: string): ErrorEntry => ({ meaning, mend })

export const errorGroups: readonly ErrorGroup[] = [
  {
    title: 'The call',
    note: 'Exit code 2. Nothing was read or sent.',
    codes: {
      UNKNOWN_COMMAND: entry('There is no such command.', 'Take the one that is offered, or `sluice --help`.'),
      UNKNOWN_OPTION: entry('The command has no such option.', 'Take the one that is offered, or `sluice help COMMAND`.'),
      MISSING_ARGUMENT: entry('An argument, or the value of an option, is missing.', '`sluice help COMMAND` shows the call.'),
      MISSING_OPTION: entry('An option that this call needs is missing.', 'Add it as shown.'),
      TOO_MANY_ARGUMENTS: entry(
        'There are more arguments than the command takes.',
        '`sluice help COMMAND` shows the call. Quote names with blanks.',
      ),
      INVALID_VALUE: entry('A value is not of the kind or not within the bounds that the option takes.', 'Correct the value as shown.'),
      INVALID_JSON: entry('`--data` is not JSON.', 'Check the quotes, or put the JSON into a file: `--data @FILE`.'),
      UNKNOWN_PIPELINE: entry('No file of the pipelines folder has this name.', 'Take the name that is offered; `sluice check` lists all.'),
      SEVERAL_PIPELINES: entry('The name matches several pipelines, and the command takes one.', 'Name one of them.'),
      NO_PIPELINES: entry(
        'The folder holds no pipeline.',
        '`sluice init --source FILE` writes one; or name another folder with `--pipelines DIR`.',
      ),
      PIPELINES_MISSING: entry(
        'The folder of pipelines cannot be read.',
        '`sluice init --source FILE` makes it; or name another with `--pipelines DIR`.',
      ),
      FILE_EXISTS: entry('`sluice init` found the pipeline file there already.', 'Name another, or let it be replaced with `--force`.'),
      DESTINATION_TAKEN: entry(
        'Another pipeline writes to the destination that `sluice init` was told; each would delete what the other sends.',
        'Name another, put both sources into one file (`source:` as a list), or move the other file away.',
      ),
      OPTIONS_CONFLICT: entry('Options that rule each other out are given together.', 'Leave one out, as shown.'),
      UNKNOWN_RUN: entry('There is no run of this id, or it is not kept any more (400 days).', '`sluice runs` lists them.'),
      UNKNOWN_PLAN: entry('There is no plan of this id.', '`sluice plan PIPELINE` makes one.'),
      PLAN_OF_ANOTHER_SERVICE: entry(
        'The plan was made for another service, for example the sandbox.',
        '`sluice plan PIPELINE` makes one for this.',
      ),
      CANNOT_READ_BACK: entry(
        'The service lists no members of an audience or a do-not-reach list, so there is nothing that an audit could compare.',
        '`sluice run PIPELINE --full` sends everybody again.',
      ),
      APPROVAL_NEEDS_ONE: entry('`--approve-deletes` approves the deletes of one pipeline, and several are named.', 'Run them one by one.'),
      PIN_NEEDED: entry(
        'The PIN cannot be asked for, because this is no terminal, or none was given.',
        'Open the printed address, then `sluice auth login --pin PIN`.',
      ),
      NO_PENDING_LOGIN: entry('`--pin` ends a sign-in that was begun in this folder, and none was.', '`sluice auth login`'),
    },
  },
  {
    title: 'Configuration',
    note: 'Exit code 2. Nothing was read or sent. Every problem is listed at once.',
    codes: {
      ENVIRONMENT_INVALID: entry(
        'Environment variables, or the `.env` of the folder, are wrong.',
        '`sluice help environment` describes each.',
      ),
      SERVICE_NOT_CONFIGURED: entry(
        'The addresses of the service or the credentials are missing.',
        '`sluice sandbox` prints a set to paste into `.env`; `sluice init --sandbox` writes it.',
      ),
      PIPELINE_INVALID: entry('A pipeline file is wrong.', 'Correct the lines that are named; `sluice check` looks again.'),
      NODE_MISSING: entry('The pinned Node 24 is not installed.', '`npm ci`, with install scripts allowed.'),
    },
  },
  {
    title: 'Database',
    note: 'Exit code 1. What was confirmed before is kept.',
    codes: {
      DATABASE_UNREACHABLE: entry('The database does not answer.', 'Check `DATABASE_URL`, or unset it for the embedded Postgres.'),
      DATABASE_TOO_OLD: entry('The server is older than Postgres 15.', 'Use a newer one, or the embedded one.'),
      DATABASE_UNUSABLE: entry(
        'The database is not encoded in UTF-8, takes no writes, or the role may not make tables in it.',
        'Make the role the owner of a database in UTF-8, or unset `DATABASE_URL`.',
      ),
      DATABASE_FAILED: entry('The database failed during the run.', '`sluice doctor`, then run again: it goes on where it stopped.'),
      POSTGRES_UNAVAILABLE: entry(
        'The embedded Postgres cannot run here.',
        'Set `DATABASE_URL` to a server of your own; the message says why.',
      ),
      MIGRATION_MISMATCH: entry(
        'The database was made by another version of Sluice, or a migration was edited.',
        'Run the newest version of Sluice that used this database.',
      ),
    },
  },
  {
    title: 'Runs and plans',
    note: 'Exit code 1 if not said otherwise.',
    codes: {
      PIPELINE_HELD: entry('Another run holds the destination (exit code 5).', '`sluice runs PIPELINE` shows which; wait for it.'),
      PLAN_STALE: entry(
        'The synced state moved since the plan was made, or the source was read again and wants something else. Nothing was sent.',
        '`sluice plan PIPELINE` makes a new one.',
      ),
      RUN_INTERRUPTED: entry(
        'The run was stopped, or its process ended without a word. What was confirmed is kept.',
        '`sluice run PIPELINE` goes on.',
      ),
      RUN_CANCELLED: entry(
        'Somebody cancelled the run with `sluice cancel RUN_ID`. What was confirmed is kept.',
        '`sluice run PIPELINE` goes on.',
      ),
      CATALOG_UNREADABLE: entry(
        'The service did not list the catalog to its end, so nothing of it was judged. Nothing was changed or sent.',
        '`sluice doctor`, then `sluice audit PIPELINE` again.',
      ),
      DESTINATION_PAUSED: entry(
        'The service refused everything for a reason that is not the records’: credentials, access, or a missing target.',
        '`sluice doctor`, then run again.',
      ),
      OPERATION_TOO_LARGE: entry('One record alone is larger than a request may be.', 'Shorten its fields.'),
      INTERRUPTED: entry(
        'The command was stopped by a signal (exit code 130 or 143). The state is safe.',
        'The same command again goes on from there.',
      ),
      INTERNAL: entry('A fault of Sluice itself.', 'Run it again with `SLUICE_LOG_LEVEL=debug` and report what it prints.'),
      DEMO_INCOMPLETE: entry('The samples of the demo are missing.', 'Install Sluice again.'),
    },
  },
  {
    title: 'Guards',
    note: 'Exit code 4. Upserts went out, what is named was withheld.',
    codes: {
      GUARD_DELETES: entry(
        'More deletes than both `max_delete_count` and `max_delete_percent`.',
        'If the records are truly gone: `sluice run PIPELINE --approve-deletes N`.',
      ),
      GUARD_MIN_ROWS: entry(
        'Fewer valid rows than `min_rows`. No approval overrides this.',
        'Look at the source; if it is right, lower `min_rows`.',
      ),
      GUARD_ROWS_FELL: entry(
        'Far fewer rows than at the last good reading.',
        'Look at the source; if it is right, approve the deletes by number.',
      ),
      GUARD_INCOMPLETE: entry(
        'The end of the source is not proven, so nothing is taken for gone.',
        'Export it again, or say in `complete:` what proves the end.',
      ),
      GUARD_REJECTS: entry(
        'More rejects than `max_reject_percent`. Nothing was sent.',
        '`sluice rejects RUN_ID`, and `sluice check PIPELINE`.',
      ),
    },
  },
  {
    title: 'Sources',
    note: 'Exit code 1. Nothing was sent, nothing is taken for gone.',
    codes: {
      SOURCE_MISSING: entry('There is nothing at the address.', 'Correct `source.url`.'),
      SOURCE_UNAVAILABLE: entry('The source does not answer, or broke off.', 'Try again; check the network.'),
      SOURCE_DENIED: entry('The source refused the credentials.', 'Check the variables that `source.credentials` names.'),
      SOURCE_CREDENTIALS: entry('A variable that holds a credential of the source is missing or unusable.', 'Set it, or its `…_FILE`.'),
      SOURCE_FORBIDDEN: entry('This machine may not read the file.', 'Check owner and mode.'),
      SOURCE_REFUSED: entry(
        'The address is of a kind that Sluice does not read: a folder, a device, a private address, a redirect elsewhere.',
        'Name a file or a public https address, or allow it in the pipeline.',
      ),
      SOURCE_CHANGED: entry(
        'The source changed while it was read, or since the run whose rows are asked for.',
        'Run again once it is written.',
      ),
      SOURCE_HOST_KEY: entry(
        'The SFTP server’s key is not the pinned one.',
        'Compare it with the server’s owner before you change `host_key`.',
      ),
      SOURCE_QUERY: entry('The query of a `postgres:` source failed.', 'Try the query by itself.'),
      DIGEST_MISMATCH: entry('The download is not what the server’s digest says.', 'Run again; if it repeats, tell the server’s owner.'),
    },
  },
  {
    title: 'Files',
    note: 'Exit code 1. Nothing was sent, nothing is taken for gone.',
    codes: {
      FILE_TRUNCATED: entry('The file ends too early.', 'Export or upload it again.'),
      FILE_EMPTY: entry('The file holds nothing.', 'Export it again. An empty file never deletes anything.'),
      FILE_CORRUPT: entry('The archive is damaged.', 'Pack or upload it again.'),
      FILE_TRAILING_BYTES: entry('Something follows the end of the packed data.', 'Pack it again.'),
      FILE_ARCHIVE: entry('The archive holds not exactly one usable file.', 'Name it with `source.member`.'),
      FILE_DOUBLE_PACKED: entry('The file is packed twice.', 'Pack it once.'),
      FILE_BOMB: entry('The file unpacks to far more than a feed can be.', 'Check where it comes from.'),
      FILE_TOO_LARGE: entry('The file is larger than the limit.', 'Split the export.'),
      FILE_ENCODING: entry(
        'The text is not in the encoding that it claims or that was found.',
        'Set `source.encoding`, or export as UTF-8.',
      ),
      FILE_MALFORMED: entry('The file breaks the rules of its format.', 'Correct the place that is named.'),
      FILE_UNCLOSED_QUOTE: entry('A quote is opened and never closed.', 'Close it near the line that is named.'),
      FILE_FAULTY_ROWS: entry('Too many rows do not fit the header.', 'Check delimiter and quotes.'),
      FILE_SPREADSHEET_DAMAGE: entry(
        'A spreadsheet changed many values: exponents, dates made of numbers.',
        'Export again with every column formatted as text.',
      ),
      FILE_MAPPING: entry('Many rows have an email where a phone number is mapped, or the reverse.', 'Correct the columns under `map:`.'),
      FILE_NO_HEADER: entry('No row looks like a header.', 'Add one, or set `csv.columns`.'),
      FILE_COMMENT_HEADER: entry('The first row looks like a comment and like a header.', 'Set `csv.header_row`.'),
      FILE_DUPLICATE_COLUMN: entry('Two columns have one name.', 'Rename one.'),
      FILE_TOO_MANY_COLUMNS: entry('More columns than a feed can have: probably a wrong delimiter.', 'Set `csv.delimiter`.'),
      FILE_COLUMN_MISSING: entry('A column that the pipeline maps is not in the file.', 'Correct `map`, or the export.'),
      FILE_FIELD_TOO_LARGE: entry('One field is longer than 128 KiB: probably a quote is not closed.', 'Correct the place that is named.'),
      FILE_RECORD_TOO_LARGE: entry('One record is longer than 1 MiB.', 'Correct the place that is named.'),
      FILE_TOO_DEEP: entry('Elements or objects are nested too deep.', 'Export it flatter.'),
      FILE_DOCTYPE: entry('The XML holds a document type, which may hide other files.', 'Export it without.'),
      FILE_NOT_JSON_LINES: entry('The lines are not one JSON object each.', 'Set `source.format: json` for an array.'),
      HEADER_MISMATCH: entry('The header does not fit what the pipeline says of it.', 'Correct `source.csv`.'),
      WRONG_FORMAT: entry('The file is of another format than the pipeline says.', 'Set `source.format: auto`, or the right one.'),
      UNEXPECTED_CONTENT: entry('The file is no feed at all: a web page, an image, an error.', 'Open the address in a browser.'),
    },
  },
  {
    title: 'The service',
    note: 'Exit code 1. The message says whether the call may have been carried out.',
    codes: {
      SERVICE_BAD_SIGNATURE: entry('The signature was refused.', 'Check the four credentials and this machine’s clock: `sluice doctor`.'),
      SERVICE_TOKEN_INVALID: entry('`SLUICE_ACCESS_TOKEN` is invalid or expired (code 89).', '`sluice auth login`'),
      SERVICE_APPLICATION_NOT_APPROVED: entry(
        'The application of `SLUICE_CONSUMER_KEY` is not approved for this.',
        'Apply for access at the service.',
      ),
      SERVICE_ACCOUNT_OUT_OF_REACH: entry(
        'The user may not use this advertising account.',
        'Ask the account’s owner; `sluice auth status` shows which are within reach.',
      ),
      SERVICE_PERMISSION_LEVEL: entry('The application’s permission level does not include this.', 'Raise it, then `sluice auth login`.'),
      SERVICE_WRONG_CONTEXT: entry('The call wants a user, or an app-only token, and got the other.', 'Leave out `--bearer`, or add it.'),
      SERVICE_CALLBACK_NOT_APPROVED: entry(
        'The callback address is not approved in the application’s settings.',
        'Approve it, or sign in by PIN.',
      ),
      SERVICE_BEARER_REFUSED: entry(
        'The app-only token was refused to us (code 99).',
        'Check consumer key and secret; wait, if it was asked for often.',
      ),
      SERVICE_FORBIDDEN: entry('The service forbids the call.', 'The message holds its reason.'),
      SERVICE_NOT_FOUND: entry('The path or the record does not exist.', 'Check the ids.'),
      SERVICE_INVALID_PARAMETER: entry('A parameter breaks a rule.', 'The mend names parameter and rule.'),
      SERVICE_REQUEST_TOO_LARGE: entry('The body is too large.', 'Send less at once.'),
      SERVICE_BATCH_REFUSED: entry('The batch as a whole was refused.', 'The message names the entries at fault.'),
      SERVICE_REFUSED: entry('The service refused the call for another reason.', 'The message holds it.'),
      SERVICE_RATE_LIMITED: entry('Too many requests.', 'Wait until the time that is named.'),
      SERVICE_UNAVAILABLE: entry('The service is in trouble. The call may have been carried out.', 'Try again later.'),
      SERVICE_UNREACHABLE: entry('The service does not answer. Nothing was sent.', '`sluice doctor`; for the sandbox, `sluice sandbox`.'),
      SERVICE_ANSWER_LOST: entry(
        'The call was sent and no complete answer came. It may have been carried out.',
        'Read back before you send it again.',
      ),
      SERVICE_ANSWER_UNREADABLE: entry('The answer is not of the documented shape.', 'Try again; a gateway may stand in between.'),
      SERVICE_CURSOR_REPEATS: entry('A list hands out the same page again.', 'Report it to the service.'),
      CALL_INVALID: entry(
        'The client was called with parameters that the contract does not allow. Nothing was sent.',
        'Correct the parameter that is named.',
      ),
      LOGIN_DENIED: entry('The sign-in was denied in the browser.', '`sluice auth login`'),
      LOGIN_MISMATCH: entry('The answer belongs to another sign-in. Nothing was kept.', '`sluice auth login`'),
    },
  },
  {
    title: 'The machine',
    note: 'Exit code 1.',
    codes: {
      PORT_IN_USE: entry('Another program listens on the port.', 'Choose another with `--port`, or `--port 0` for a free one.'),
      HOST_UNAVAILABLE: entry('This machine has no such address.', 'Leave out `--host`.'),
      NO_PERMISSION: entry('A file or port may not be used.', 'Check owner and mode.'),
      DISK_FULL: entry('The disk is full.', 'Free some space; nothing that was confirmed is lost.'),
      FILE_MISSING: entry('A file that was named is not there.', 'Correct the path.'),
      NOT_A_FILE: entry('A folder was named where a file is needed.', 'Name a file.'),
    },
  },
]

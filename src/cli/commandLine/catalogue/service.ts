/** Commands to sign in to the service and to call it. */
import type { CommandEntry } from './entry.ts'

export const serviceCommands: readonly CommandEntry[] = [
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
      { flags: '--paginate', meaning: 'follow every page and print all of them as one' },
      { flags: '--include', meaning: 'print status and headers too' },
      { flags: '--bearer', meaning: 'send the app-only token instead of a signature' },
    ],
  },
]

import type { CommandEntry } from './entry.ts'

export const forgetCommand: CommandEntry = {
  name: 'forget',
  summary: 'erase a person: suppress, delete everywhere, purge',
  examples: [
    'sluice forget --email jane@example.com --reason "request 4711"',
    'sluice forget --email jane@example.com --phone +12025550123 --json',
    'sluice forget --key C-1042 --pipeline customers',
    'sluice forget --list --json',
  ],
  options: [
    { flags: '--email <ADDRESS>', meaning: 'email of the person; repeat it for more', many: true },
    { flags: '--phone <NUMBER>', meaning: 'phone number with country code; repeat it for more', many: true },
    { flags: '--key <KEY>', meaning: 'customer key in the audience of --pipeline; repeat it for more', many: true },
    { flags: '--pipeline <PIPELINE>', meaning: 'audience that --key refers to' },
    { flags: '--reason <TEXT>', meaning: 'kept in the audit log with your name; no personal data' },
    { flags: '--no-wait', meaning: 'suppress and plan only; the next runs send the deletes' },
    { flags: '--list', meaning: 'receipts of all erasures' },
    { flags: '--export <FILE>', meaning: 'write the suppressed digests to FILE (mode 0600), to keep beside the backups' },
    { flags: '--replay <FILE>', meaning: 'repeat the erasures in FILE after a backup was restored' },
  ],
  notes: [
    'The person is suppressed before anything else happens: no run sends them again, even from a new file. Exits 3 while a delete is not confirmed; the next run sends it.',
    'Values are hashed immediately, never stored or logged. Your shell may keep them in its history.',
  ],
  load: () => import('../commands/forget.ts'),
}

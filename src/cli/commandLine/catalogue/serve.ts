/** Commands that keep running. */
import type { CommandEntry } from './entry.ts'

export const serveCommands: readonly CommandEntry[] = [
  {
    name: 'serve',
    summary: 'scheduler, worker and receiver in one process',
    examples: ['sluice serve', 'sluice serve --port 8080 --host 127.0.0.1'],
    options: [
      { flags: '--port <N>', meaning: 'default 8080' },
      { flags: '--host <ADDRESS>', meaning: 'default 127.0.0.1' },
      { flags: '--concurrency <N>', meaning: 'most requests in flight; default by latency' },
    ],
  },
  {
    name: 'worker',
    summary: 'a worker only, on any machine',
    examples: ['sluice worker', 'sluice worker --concurrency 8'],
    options: [{ flags: '--concurrency <N>', meaning: 'most requests in flight; default by latency' }],
  },
  {
    name: 'sandbox',
    summary: 'local emulator of the ads API',
    examples: ['sluice sandbox', 'sluice sandbox --port 4010 --state sandbox.state'],
    notes: ['To sync again to a sandbox that lost its state: sluice run PIPELINE --full'],
    options: [
      { flags: '--port <N>', meaning: 'default 4010; 0 takes a free one' },
      { flags: '--state <FILE>', meaning: 'keep the state across restarts' },
      { flags: '--consumer-key <TEXT>', meaning: 'instead of sandbox-consumer-key' },
      { flags: '--consumer-secret <TEXT>', meaning: 'instead of sandbox-consumer-secret' },
      { flags: '--access-token <TEXT>', meaning: 'instead of 1001-sandbox-access-token' },
      { flags: '--access-token-secret <TEXT>', meaning: 'instead of sandbox-access-token-secret' },
    ],
  },
]

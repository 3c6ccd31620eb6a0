/** Commands that keep running until a signal. `webhooks listen` is in `webhooks.ts`. */
import { fixedCredentials } from '../../../sandbox/area.ts'
import type { CommandEntry } from './entry.ts'

export const serveCommands: readonly CommandEntry[] = [
  {
    name: 'serve',
    summary: 'dashboard, API, scheduler, worker, receiver in one process',
    examples: ['sluice serve', 'sluice serve --port 8080 --host 127.0.0.1'],
    options: [
      { flags: '--port <N>', meaning: 'port to listen on, default 8080' },
      { flags: '--host <ADDRESS>', meaning: 'address to listen on, default 127.0.0.1' },
      { flags: '--concurrency <N>', meaning: 'maximum of concurrent requests; by default follows latency' },
    ],
  },
  {
    name: 'worker',
    summary: 'a worker only, on any machine',
    examples: ['sluice worker', 'sluice worker --concurrency 8'],
    options: [{ flags: '--concurrency <N>', meaning: 'maximum of concurrent requests; by default follows latency' }],
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
]

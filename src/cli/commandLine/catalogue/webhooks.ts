/** Commands for webhook registrations, and a receiver. */
import type { CommandEntry } from './entry.ts'

export const webhooksCommands: readonly CommandEntry[] = [
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
]

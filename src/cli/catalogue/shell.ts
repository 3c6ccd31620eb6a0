/** Around the command line itself. */
import type { CommandEntry } from './entry.ts'

export const shellCommands: readonly CommandEntry[] = [
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
    load: () => import('../commands/completion.ts'),
  },
  {
    name: 'demo',
    summary: 'the samples end to end against the sandbox',
    hidden: true,
    examples: ['npm run demo', 'npm run demo -- --keep'],
    options: [{ flags: '--keep', meaning: 'keep sandbox and database up until Ctrl-C' }],
    load: () => import('../commands/demo.ts'),
  },
]

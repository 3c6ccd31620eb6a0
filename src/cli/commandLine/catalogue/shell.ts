/** Commands for shells and editors, and the demo. */
import type { CommandEntry } from './entry.ts'

export const shellCommands: readonly CommandEntry[] = [
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

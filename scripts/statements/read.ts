import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Statement with the module of `src` that sent it first. */
export interface Captured {
  readonly text: string
  readonly sender: string
}

/** Returns the statements that all processes recorded in `folder`, each text once. */
export function readCaptured(folder: string): readonly Captured[] {
  const byText = new Map<string, Captured>()
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.jsonl')))
    for (const line of readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean)) {
      const captured = JSON.parse(line) as Captured
      if (!byText.has(captured.text)) byText.set(captured.text, captured)
    }
  return [...byText.values()]
}

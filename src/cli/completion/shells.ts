import { bashCompletion } from './bash.ts'
import { fishCompletion } from './fish.ts'
import type { Shape } from './shape.ts'
import { zshCompletion } from './zsh.ts'

/** The script of each shell that `sluice completion` knows. */
export const scripts: Readonly<Record<string, (shape: Shape) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
}

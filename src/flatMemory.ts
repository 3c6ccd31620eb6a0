import { setFlagsFromString } from 'node:v8'

/**
 * Rows live for a moment, so the space for new objects need not grow while a file is read: left to itself it takes 80 MB
 * more for the same speed (300,000 rows: 322 and 240 MB at most, Node 24.21). Holds for the whole process from here on.
 */
export function keepMemoryFlat(): void {
  // Read by V8 whenever that space is about to grow, so it may be set at any time.
  setFlagsFromString('--semi-space-growth-factor=1')
  // Little survives, and helper threads to carry it over cost more than they save: 3.5 s of processor a million rows, 3.2 without.
  setFlagsFromString('--no-parallel-scavenge')
}

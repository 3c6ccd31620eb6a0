import { readFileSync } from 'node:fs'

/** Returns the peak resident memory of this process in MiB. Elsewhere than on Linux, `maxRSS` may include the memory of the parent. */
export function peakMebibytes(): number {
  try {
    const [, kibibytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    if (kibibytes !== undefined) return Math.round(Number(kibibytes) / 1024)
  } catch {
    // Not Linux.
  }
  return Math.round(process.resourceUsage().maxRSS / 1024)
}

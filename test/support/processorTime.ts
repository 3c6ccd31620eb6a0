/**
 * Starts to measure the processor time of this process, and returns a function that returns it in milliseconds. It finds a search in
 * quadratic time also on a busy machine, where the time by the clock says little.
 */
export function measureProcessorTime(): () => number {
  const start = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1000
  }
}

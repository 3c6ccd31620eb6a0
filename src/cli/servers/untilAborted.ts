/** Resolves when the signal aborts, and keeps the process alive until then. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const keepAlive = setInterval(() => undefined, 2 ** 30)
    signal.addEventListener('abort', () => (clearInterval(keepAlive), resolve()), { once: true })
  })
}

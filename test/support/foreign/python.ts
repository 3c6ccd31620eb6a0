/** The Python with the independent OAuth clients; undefined if they are not installed. */
import { execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const PYTHON_CLIENTS = 'needs python3-requests-oauthlib and python3-oauthlib: apt-get install python3-requests-oauthlib'

/** Undefined if no interpreter can import them. The system's interpreter comes first, because packages of Debian are installed for it. */
export const python: string | undefined = ['/usr/bin/python3', 'python3'].find((candidate) => {
  try {
    execFileSync(candidate, ['-c', 'import requests_oauthlib, oauthlib.oauth1'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})

/** Runs one of the scripts beside this file; resolves with its stdout, rejects with its stderr. */
export async function runPython(script: string, args: readonly string[], input = ''): Promise<string> {
  const child = spawn(python ?? 'python3', [fileURLToPath(new URL(script, import.meta.url)), ...args], {
    stdio: 'pipe',
    env: { PATH: process.env['PATH'] ?? '', PYTHONWARNINGS: 'ignore' },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  child.stdin.end(input)
  const code = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve))
  if (code !== 0) throw new Error(`${script} ended with ${String(code)}: ${stderr.slice(-2000)}`)
  return stdout
}

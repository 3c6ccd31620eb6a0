/** Starts a sandbox in a separate process. The process prints its URL as its first line, and ends when its stdin closes. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface SandboxProcess {
  readonly url: string
  readonly control: (method: string, path: string, body?: unknown) => Promise<unknown>
  readonly close: () => Promise<void>
}

export async function startSandboxProcess(): Promise<SandboxProcess> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()))
  const url = await new Promise<string>((resolve) => createInterface(child.stdout).once('line', resolve))
  return {
    url,
    control: async (method, path, body) => {
      const answer = await fetch(`${url}/_sandbox/${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
      return answer.json()
    },
    close: () => {
      child.stdin.end()
      return ended
    },
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { startSandbox } = await import('../src/sandbox/start.ts')
  const sandbox = await startSandbox()
  process.stdout.write(`${sandbox.url}\n`)
  process.stdin.resume().on('end', () => void sandbox.close().then(() => process.exit(0)))
}

/** Asks the TypeScript language server for completions inside a product, in a project as an editor opens it. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

export interface Completion {
  /** Seconds from the start of the server to the first answer. */
  readonly first: number
  /** Seconds of processor time that the server took until then; undefined if the system does not report it. */
  readonly processor: number | undefined
  /** Seconds of the same request after an edit. */
  readonly next: number
  readonly labels: readonly string[]
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly result?: unknown
}

/**
 * Opens `file` with the text of `marked`, and requests completions at `<here>` in it. `tsc`: the compiler's own binary, as editors start
 * it.
 */
export async function completeIn(tsc: string, folder: string, file: string, marked: string): Promise<Completion> {
  const before = marked.slice(0, marked.indexOf('<here>')).split('\n')
  const position = { line: before.length - 1, character: before.at(-1)?.length ?? 0 }
  const text = marked.replace('<here>', '')
  const uri = pathToFileURL(file).href
  const started = performance.now()
  const server = spawn(tsc, ['--lsp', '--stdio'], { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'] })
  try {
    const { request, notify } = connection(server.stdin, server.stdout)
    await request('initialize', {
      processId: process.pid,
      rootUri: pathToFileURL(folder).href,
      capabilities: { textDocument: { completion: { completionItem: {} } } },
    })
    notify('initialized', {})
    notify('textDocument/didOpen', { textDocument: { uri, languageId: 'typescript', version: 1, text } })
    const complete = () => request('textDocument/completion', { textDocument: { uri }, position })
    const labels = labelsOf(await complete())
    const answered = performance.now()
    const processor = processorSeconds(server.pid)
    notify('textDocument/didChange', { textDocument: { uri, version: 2 }, contentChanges: [{ text: `${text}\n` }] })
    await complete()
    return { first: (answered - started) / 1000, processor, next: (performance.now() - answered) / 1000, labels }
  } finally {
    server.kill()
  }
}

/** Reads user and system time of a process; Linux only. */
function processorSeconds(pid: number | undefined): number | undefined {
  if (process.platform !== 'linux') return undefined
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function labelsOf(result: unknown): readonly string[] {
  const items = Array.isArray(result) ? result : ((result as { readonly items?: unknown } | null)?.items ?? [])
  return (items as readonly { readonly label: string }[]).map(({ label }) => label)
}

function connection(input: NodeJS.WritableStream, output: NodeJS.ReadableStream) {
  const waiting = new Map<number, (result: unknown) => void>()
  let next = 1
  let rest: Buffer<ArrayBufferLike> = Buffer.alloc(0)
  const send = (message: object): void => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))
    input.write(`Content-Length: ${body.length}\r\n\r\n`)
    input.write(body)
  }
  output.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    for (;;) {
      const end = rest.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/Content-Length: (\d+)/i.exec(rest.subarray(0, end).toString())?.[1])
      if (rest.length < end + 4 + length) return
      const message = JSON.parse(rest.subarray(end + 4, end + 4 + length).toString()) as Message
      rest = rest.subarray(end + 4 + length)
      // Requests of the server (configuration, registrations) are answered with nothing.
      if (message.method !== undefined && message.id !== undefined) send({ id: message.id, result: null })
      else if (message.id !== undefined) {
        waiting.get(message.id)?.(message.result)
        waiting.delete(message.id)
      }
    }
  })
  return {
    notify: (method: string, params: unknown): void => send({ method, params }),
    request: (method: string, params: unknown): Promise<unknown> =>
      new Promise((resolve) => {
        const id = next++
        waiting.set(id, resolve)
        send({ id, method, params })
      }),
  }
}

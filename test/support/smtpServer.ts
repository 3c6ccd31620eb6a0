/** Mail server on loopback that stores each line it receives. */
import { createServer, type AddressInfo } from 'node:net'

/** Starts the server. It refuses recipients for which `isRefused` returns true, and accepts everything else. */
export async function smtpServer(isRefused: (address: string) => boolean = () => false) {
  const lines: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.write('220 mail.example.com ESMTP\r\n')
    let inData = false
    socket.on('data', (chunk) => {
      for (const line of String(chunk)
        .split('\r\n')
        .filter((one) => one !== '')) {
        lines.push(line)
        if (inData && line === '.') inData = false
        else if (inData) continue
        else if (line === 'DATA') inData = true
        const [, recipient = ''] = /^RCPT TO:<(.*)>/.exec(line) ?? []
        if (isRefused(recipient)) socket.write('550 no such mailbox\r\n')
        else socket.write(line === 'DATA' ? '354 go on\r\n' : line === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n')
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}?ignoreTLS=true`,
    lines,
    [Symbol.dispose]: () => server.close(),
  }
}

import { startSandbox } from '../../sandbox/start.ts'
import { parseCount } from '../../config/config.ts'
import { option, writeJson, type CommandRun } from '../context.ts'
import { untilAborted } from '../wait.ts'

/** The credentials of every sandbox that was told no others (interface.md 5). */
export const sandboxCredentials = {
  consumerKey: 'sandbox-consumer-key',
  consumerSecret: 'sandbox-consumer-secret',
  accessToken: '1001-sandbox-access-token',
  accessTokenSecret: 'sandbox-access-token-secret',
} as const

/** Serves until a signal comes. What it prints is for pasting: these credentials open nothing but this sandbox. */
export const run: CommandRun = async (context, invocation) => {
  const port = parseCount('--port', option(invocation, 'port') ?? '4010', { min: 0, max: 65_535 })
  const credentials = {
    consumerKey: option(invocation, 'consumerKey') ?? sandboxCredentials.consumerKey,
    consumerSecret: option(invocation, 'consumerSecret') ?? sandboxCredentials.consumerSecret,
    accessToken: option(invocation, 'accessToken') ?? sandboxCredentials.accessToken,
    accessTokenSecret: option(invocation, 'accessTokenSecret') ?? sandboxCredentials.accessTokenSecret,
  }
  const state = option(invocation, 'state')
  const crash = () => process.kill(process.pid, 'SIGKILL')
  const sandbox = await startSandbox({ port, credentials, crash, ...(state === undefined ? {} : { stateFile: state }) })
  const env = environmentFor(sandbox.url, credentials)
  if (context.json) writeJson(context, { url: sandbox.url, port: sandbox.port, env })
  else {
    const { bold } = context.stdout.style
    context.stdout.write(
      `${bold(`sandbox ready on ${sandbox.url}`)}   loopback only${state === undefined ? ', state in memory' : `, state in ${state}`}\n` +
        'account 18ce54d4x5t · audience 1nmth · do-not-reach list 2dnr · catalog 4001\n\n' +
        `# paste into .env\n${Object.entries(env)
          .map(([name, value]) => `${name}=${value}\n`)
          .join('')}\n`,
    )
    context.stderr.write('Ctrl-C ends it\n')
  }
  await untilAborted(context.signal)
  await sandbox.close()
  // Being told to stop is how a sandbox ends well, but the exit code still names the signal (main.ts).
  return 0
}

/** The variables of interface.md section 3 that point everything at one sandbox. */
export function environmentFor(
  url: string,
  credentials: Readonly<Record<keyof typeof sandboxCredentials, string>>,
): Readonly<Record<string, string>> {
  return {
    SLUICE_BASE_URL: url,
    SLUICE_ADS_BASE_URL: url,
    SLUICE_ADS_SANDBOX_BASE_URL: url,
    SLUICE_CONSUMER_KEY: credentials.consumerKey,
    SLUICE_CONSUMER_SECRET: credentials.consumerSecret,
    SLUICE_ACCESS_TOKEN: credentials.accessToken,
    SLUICE_ACCESS_TOKEN_SECRET: credentials.accessTokenSecret,
  }
}

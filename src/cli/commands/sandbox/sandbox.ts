import { isDeepStrictEqual } from 'node:util'
import { fixedCredentials } from '../../../sandbox/area.ts'
import { startSandbox } from '../../../sandbox/start.ts'
import { dotenvLine } from '../../../config/dotenvLine.ts'
import { parseCount } from '../../commandLine/parseCount.ts'
import { option, writeJson, type CommandRun } from '../../context.ts'
import { environmentFor, sandboxPort, sandboxTargets } from './sandboxDefaults.ts'
import { storeSandboxAddress } from './sandboxAddress.ts'
import { untilAborted } from '../../servers/untilAborted.ts'

/** Runs the sandbox until a signal. Prints its address and its credentials as variables for `.env`. */
export const run: CommandRun = async (context, invocation) => {
  const port = parseCount('--port', option(invocation, 'port') ?? String(sandboxPort), { min: 0, max: 65_535 })
  const credentials = {
    consumerKey: option(invocation, 'consumerKey') ?? fixedCredentials.consumerKey,
    consumerSecret: option(invocation, 'consumerSecret') ?? fixedCredentials.consumerSecret,
    accessToken: option(invocation, 'accessToken') ?? fixedCredentials.accessToken,
    accessTokenSecret: option(invocation, 'accessTokenSecret') ?? fixedCredentials.accessTokenSecret,
  }
  const state = option(invocation, 'state')
  // Called by the sandbox's fault `crash`.
  const crash = () => process.kill(process.pid, 'SIGKILL')
  const { names } = context.config().service
  const sandbox = await startSandbox({
    port,
    credentials,
    crash,
    names,
    ...(state === undefined ? {} : { stateFile: state }),
  })
  const removeAddress = storeSandboxAddress(context.config().dataDir, sandbox.url)
  const env = environmentFor(sandbox.url, credentials)
  if (context.json) writeJson(context, { url: sandbox.url, port: sandbox.port, env })
  else {
    const { bold } = context.stdout.style
    // `init --sandbox` writes the default credentials.
    const hasDefaultCredentials = isDeepStrictEqual(credentials, fixedCredentials)
    context.stdout.write(
      `${bold(`sandbox ready on ${sandbox.url}`)}   loopback only${state === undefined ? ', state in memory (--state FILE keeps it)' : `, state in ${state}`}\n` +
        `account ${sandboxTargets.account} · audience ${sandboxTargets.audience} · do-not-reach list ${sandboxTargets.doNotReach} · catalog ${sandboxTargets.catalog}\n\n` +
        `# paste into .env${hasDefaultCredentials ? ', or let sluice init --sandbox write it' : ''}\n${Object.entries(env)
          .map(([name, value]) => `${dotenvLine(name, value)}\n`)
          .join('')}\n`,
    )
    context.stderr.write('Ctrl-C stops it\n')
  }
  await untilAborted(context.signal)
  removeAddress()
  await sandbox.close()
  // A signal is the normal end of a sandbox. `main.ts` sets the exit code of the signal.
  return 0
}

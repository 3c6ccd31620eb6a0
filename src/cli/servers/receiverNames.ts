import { ConfigError } from '../../errors.ts'
import { readProjectFile } from '../../pipeline/projectFile.ts'
import type { Variables } from '../../pipeline/variables.ts'

/**
 * Returns a function that reads the names of the receivers in `sluice.yaml`, as the alerts do before each message. While the file is
 * invalid, the function returns the last valid names. `pipelines`: folder of the pipelines.
 *
 * @throws {ConfigError} `PROJECT_INVALID` if the file is invalid now
 */
export async function receiverNames(pipelines: string, variables: Variables): Promise<() => Promise<readonly string[]>> {
  const read = async () => Object.keys((await readProjectFile(pipelines, variables)).receivers)
  let last = await read()
  return async () => {
    try {
      last = await read()
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
    }
    return last
  }
}

import { readdir } from 'node:fs/promises'
import { UsageError } from '../errors.ts'
import { errorCode } from '../unknownValue.ts'

const endings = ['.ts', '.mts', '.yaml', '.yml', '.json']

/**
 * Lists the names of the pipeline files of a folder, sorted. Omits hidden files, type declarations (`.d.ts`) and tests (`.test.ts`). Does
 * not read the files.
 *
 * @throws {UsageError} `PIPELINES_MISSING` if the folder cannot be read
 */
export async function pipelineFiles(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true })
    return entries
      .filter(
        (entry) =>
          !entry.isDirectory() &&
          endings.some((ending) => entry.name.endsWith(ending)) &&
          !entry.name.startsWith('.') &&
          !/\.(?:d|test)\.m?ts$/.test(entry.name),
      )
      .map(({ name }) => name)
      .sort()
  } catch (error) {
    const code = errorCode(error)
    const reasons: Readonly<Record<string, string>> = { EACCES: ' (no permission)', ENOTDIR: ' (it is a file)' }
    throw new UsageError('PIPELINES_MISSING', `the folder of pipelines cannot be read: ${directory}${reasons[code ?? ''] ?? ''}`, {
      where: directory,
      hint:
        code === 'ENOENT'
          ? 'sluice init --source FILE   (creates it, with a first pipeline), or name another with --pipelines'
          : 'check its owner and mode, or name another folder with --pipelines',
      cause: error,
    })
  }
}

/** Returns the file's name without its ending: the name of its pipeline or, with `markets`, the first part of their names. */
export function pipelineNameOf(file: string): string {
  const ending = endings.find((candidate) => file.endsWith(candidate)) ?? ''
  return file.slice(0, file.length - ending.length)
}

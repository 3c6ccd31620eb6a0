/** The map of modules: the table of docs/architecture.md, and the imports that break it. */
import { dirname, join } from 'node:path/posix'

/** Modules that a module may import, by its folder under `src/`; `everything` for the command line. */
export type ModuleMap = ReadonlyMap<string, readonly string[]>

export interface Import {
  readonly file: string
  readonly to: string
  readonly isType: boolean
}

/** Reads the column "May import" of the table. */
export function parseMap(page: string): ModuleMap {
  return new Map(
    [...page.matchAll(/^\| `src\/([\w/<>.]+?)\/?` \|.*\| ([^|]+) \|$/gm)].map(([, folder = '', cell = '']) => [
      folder.replace(/\.ts$/, ''),
      cell === 'everything' ? [cell] : [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    ]),
  )
}

/** Returns the imports of the files, by their path under `src/`. */
export function importsOf(files: ReadonlyMap<string, string>): readonly Import[] {
  return [...files].flatMap(([file, text]) =>
    [...text.matchAll(/(?:(import type)[^;']*)?(?:from|import\(|import)\s*'(\.[^']+\.ts)'/g)].map(([, type, target = '']) => ({
      file,
      isType: type !== undefined,
      to: join(dirname(file), target),
    })),
  )
}

/** Returns the row that a file belongs to: the longest folder, or that of an area of the sandbox. Undefined: beside the folders. */
export function moduleOf(map: ModuleMap, file: string): string | undefined {
  const path = file.replace(/\.ts$/, '')
  const found = [...map.keys()].filter((folder) => path === folder || path.startsWith(`${folder}/`)).toSorted((a, b) => b.length - a.length)
  return found[0] === 'sandbox' && path.split('/').length > 2 ? 'sandbox/<area>' : found[0]
}

function covers(map: ModuleMap, name: string, file: string): boolean {
  const path = file.replace(/\.ts$/, '')
  return name === 'everything' || path === name || path.startsWith(`${name}/`) || name === moduleOf(map, file)
}

/** Returns the names in the row of an import that permit it; undefined if it needs none. */
export function permissionsOf(map: ModuleMap, { file, to, isType }: Import): readonly string[] | undefined {
  const [from, target] = [moduleOf(map, file), moduleOf(map, to)]
  if (from === target && from !== 'sandbox/<area>') return undefined
  if (target === undefined || target === 'model') return undefined
  if (from?.startsWith('sandbox') && target.startsWith('sandbox') && (isType || target === 'sandbox')) return undefined
  if (from === 'sandbox/<area>' && dirname(file) === dirname(to)) return undefined
  return (map.get(from ?? '') ?? []).filter((name) => covers(map, name, to))
}

/** Returns the imports that no row permits, as `file -> file`. */
export function illegalImports(map: ModuleMap, files: ReadonlyMap<string, string>): readonly string[] {
  return importsOf(files)
    .filter((each) => permissionsOf(map, each)?.length === 0)
    .map(({ file, to }) => `${file} -> ${to}`)
}

/** Returns the circles of imports, as `file -> file -> file`; of two that share a file perhaps only one. */
export function circlesOf(imports: readonly Import[]): readonly string[] {
  const targets = Map.groupBy(imports, ({ file }) => file)
  const done = new Set<string>()
  const found: string[] = []
  const follow = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file)
    if (start >= 0) return void found.push([...path.slice(start), file].join(' -> '))
    if (done.has(file)) return
    for (const { to } of targets.get(file) ?? []) follow(to, [...path, file])
    done.add(file)
  }
  for (const file of targets.keys()) follow(file, [])
  return found
}

import { attributesAt, readSmallPart } from './smallPart.ts'
import type { ZipDirectory } from './zipDirectory.ts'
import { decodeOrKeep } from '../../decodeOrKeep.ts'

/** Relationships of one part of a workbook to other parts, as names of archive members. External targets are left out. */
export interface Relations {
  readonly byId: (id: string) => string | undefined
  /** Returns the last step of the type; undefined without such a relationship. */
  readonly typeOf: (id: string) => string | undefined
  /** `type`: last step of the type, which is the same in both variants of the standard. Example: `sharedStrings` */
  readonly byType: (type: string) => string | undefined
}

/**
 * Reads the relationships of a part (ECMA-376 part 2, 6.5); of the whole archive if `part` is empty. A part without relationships has no
 * file for them.
 *
 * @throws RunError FILE_MALFORMED, and the errors of `ZipDirectory.read`
 */
export async function readRelations(archive: ZipDirectory, part: string, name: string): Promise<Relations> {
  const folderEnd = part.lastIndexOf('/') + 1
  const member = `${part.slice(0, folderEnd)}_rels/${part.slice(folderEnd)}.rels`
  const document = archive.has(member) ? await readSmallPart(archive, member, name) : undefined
  const relations = attributesAt(document, 'Relationships', 'Relationship').flatMap(({ Id: id, Type: type, Target: target, TargetMode }) =>
    target === undefined || TargetMode === 'External' ? [] : [{ id, type, target: memberOf(target, part, archive) }],
  )
  return {
    byId: (id) => relations.find((relation) => relation.id === id)?.target,
    typeOf: (id) => relations.find((relation) => relation.id === id)?.type?.replace(/^.*\//s, ''),
    byType: (type) => relations.find((relation) => relation.type?.endsWith(`/relationships/${type}`) === true)?.target,
  }
}

/** Returns the member of a target, which is relative to the folder of `part` or starts with `/`. */
function memberOf(target: string, part: string, archive: ZipDirectory): string {
  const path = target.replace(/[?#].*$/s, '').replaceAll('\\', '/')
  const steps = path.startsWith('/') ? [] : part.split('/').slice(0, -1)
  for (const step of path.split('/')) {
    if (step === '..') steps.pop()
    else if (step !== '' && step !== '.') steps.push(step)
  }
  const member = steps.join('/')
  // Some programs encode a target, and not the name of its member.
  return archive.has(member) ? member : decodeOrKeep(member)
}

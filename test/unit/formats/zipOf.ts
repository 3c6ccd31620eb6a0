import { crc32, deflateRawSync } from 'node:zlib'

export interface ZipEntry {
  readonly name: string
  readonly content: Buffer | string
  readonly stored?: boolean
  /** Size and checksum follow behind the data, as streaming writers do. */
  readonly described?: boolean
  readonly flags?: number
  /** Unix mode in the directory. */
  readonly mode?: number
  /** A checksum that is not the content's. */
  readonly crc?: number
}

/** Writes a zip archive byte by byte, so that tests can damage it in any way. */
export function zipOf(entries: readonly ZipEntry[], damage: { readonly directoryOffset?: number } = {}): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const content = Buffer.from(entry.content)
    const packed = entry.stored === true ? content : deflateRawSync(content)
    const crc = entry.crc ?? crc32(content)
    const name = Buffer.from(entry.name)
    const flags = (entry.flags ?? 0) | (entry.described === true ? 8 : 0)
    const sizes = Buffer.alloc(12)
    sizes.writeUInt32LE(crc, 0)
    sizes.writeUInt32LE(packed.length, 4)
    sizes.writeUInt32LE(content.length, 8)
    const head = Buffer.alloc(30)
    head.writeUInt32LE(0x04034b50, 0)
    head.writeUInt16LE(20, 4)
    head.writeUInt16LE(flags, 6)
    head.writeUInt16LE(entry.stored === true ? 0 : 8, 8)
    if (entry.described !== true) sizes.copy(head, 14)
    head.writeUInt16LE(name.length, 26)
    const descriptor = entry.described === true ? Buffer.concat([Buffer.from([0x50, 0x4b, 0x07, 0x08]), sizes]) : Buffer.alloc(0)
    parts.push(head, name, packed, descriptor)
    const central = Buffer.alloc(46)
    central.writeUInt32LE(0x02014b50, 0)
    central.writeUInt16LE(0x0314, 4)
    central.writeUInt16LE(20, 6)
    central.writeUInt16LE(flags, 8)
    central.writeUInt16LE(entry.stored === true ? 0 : 8, 10)
    sizes.copy(central, 16)
    central.writeUInt16LE(name.length, 28)
    central.writeUInt32LE(((entry.mode ?? 0o100644) << 16) >>> 0, 38)
    central.writeUInt32LE(offset + (damage.directoryOffset ?? 0), 42)
    directory.push(central, name)
    offset += head.length + name.length + packed.length + descriptor.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, central, end])
}

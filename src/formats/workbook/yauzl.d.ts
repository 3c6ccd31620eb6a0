/** The part of yauzl 3.4 that is used here; the package has no types. */
declare module 'yauzl' {
  export interface Entry {
    /** Raw bytes, with `decodeStrings: false`. */
    readonly fileName: Buffer
    readonly compressionMethod: number
    readonly crc32: number
    readonly compressedSize: number
    readonly uncompressedSize: number
  }
  export interface LocalFileHeader {
    readonly fileName: Buffer
    readonly fileDataStart: number
  }
  export interface ZipFile {
    readonly eachEntry: () => AsyncIterable<Entry>
    readonly readLocalFileHeaderPromise: (entry: Entry) => Promise<LocalFileHeader>
  }
  export function fromBufferPromise(buffer: Buffer, options: { readonly decodeStrings: false }): Promise<ZipFile>
}

import { fileError } from './fileError.ts'

/** Number of bytes that `rejectUnsupportedFile` needs. The mark of a tar archive comes after its first file name. */
export const signatureBytes = 512

const repack = 'Compress it as gzip, zip or zstd, or send it uncompressed.'
const decrypt = 'Decrypt it before it is read, in the job that fetches it.'
const convert = 'Export it as CSV, JSON lines, Google Shopping RSS or .xlsx.'

const saveAs = 'Save it as .xlsx, or export it as CSV.'

/** First bytes of files that merchants sometimes send instead of an export. No table starts with one of these marks. */
const marks: readonly (readonly [mark: RegExp, fileType: string, hint: string])[] = [
  [/^BZh[1-9](1AY&SY|\x17rE8P\x90)/, 'compressed with bzip2', repack],
  [/^\xfd7zXZ\0/, 'compressed with xz', repack],
  [/^\x04"M\x18/, 'compressed with lz4', repack],
  [/^7z\xbc\xaf'\x1c/, 'a 7z archive', repack],
  [/^Rar!\x1a\x07/, 'a RAR archive', repack],
  [/^[\s\S]{257}ustar/, 'a tar archive', 'Send the file in it as gzip or uncompressed; several files as zip.'],
  [/^\s*-----BEGIN PGP MESSAGE-----/, 'encrypted with PGP', decrypt],
  [/^age-encryption\.org\/v1\n/, 'encrypted with age', decrypt],
  [/^PAR1\x15/, 'a Parquet file', convert],
  [/^Obj\x01/, 'an Avro file', convert],
  [/^SQLite format 3\0/, 'a SQLite database', convert],
  [/^%PDF-\d/, 'a PDF document', convert],
  [/^\{\\rtf\d/, 'a document in RTF', convert],
  [/^(\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a)/, 'a picture', convert],
  [/^(?:\xef\xbb\xbf)?\s*<\?xml[^>]*>\s*<\?mso-application progid="Excel\.Sheet"/, 'an XML spreadsheet of Excel 2003', saveAs],
  [/^(?:\xef\xbb\xbf)?\s*<html[^>]*"urn:schemas-microsoft-com:office:excel"/i, 'a web page of Excel', saveAs],
  // 26 bytes of the local header are before the name of the first member.
  [/^PK\x03\x04[\s\S]{26}mimetypeapplication\/vnd\.oasis\.opendocument/, 'an OpenDocument file', saveAs],
  [/^PK\x03\x04[\s\S]{26}Index\/[\w-]+\.iwa/, 'a document of Apple Numbers or Pages', saveAs],
]

/**
 * Rejects a file of an unsupported type, and names the type. Without this check, the file would be read as a table with one strange column.
 * `head`: its first `signatureBytes`.
 *
 * @throws RunError WRONG_FORMAT
 */
export function rejectUnsupportedFile(head: Buffer, name: string): void {
  const text = head.toString('latin1')
  for (const [mark, fileType, hint] of marks) {
    if (mark.test(text)) throw fileError('WRONG_FORMAT', `the file is ${fileType}`, { name, hint })
  }
}

/** Reject codes of the readers with their hints; docs/rejects.md lists them beside the codes of the mapper. */
export const rowFaultHints = {
  ROW_RAGGED: 'Give the row as many cells as the header; quote cells that contain the delimiter.',
  ROW_QUOTE: 'Quote the whole cell and double the quotes inside it, or set csv.relaxed_quotes of the source.',
  ROW_COMMENT: 'Remove the comment or totals row from the export.',
  ROW_JSON: 'Write one valid JSON object.',
  ROW_JSON_KEYS: 'Write every key once in an object.',
  ROW_JSON_NAME: 'Write emails and phone numbers as values, under one fixed name such as "email".',
  ROW_JSON_DEPTH: 'Nest objects and arrays less deep.',
  ROW_COLUMNS: 'Use the same keys in every record.',
  HEADER_REPEATED: 'Remove the second header from the export.',
  TEXT_BROKEN: 'Export the source again as UTF-8.',
} as const

export type RowFaultCode = keyof typeof rowFaultHints

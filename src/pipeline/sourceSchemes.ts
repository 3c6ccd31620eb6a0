/** Where sources may come from (interface.md 4); anything else is refused before a byte is asked for. */
export const sourceSchemes: readonly string[] = ['file', 'http', 'https', 'sftp', 's3', 'postgres', 'postgresql']

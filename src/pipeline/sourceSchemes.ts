/** Schemes of source addresses; any other is rejected before a byte is requested. */
export const sourceSchemes: readonly string[] = ['file', 'http', 'https', 'sftp', 's3', 'postgres', 'postgresql']

/** Error of a query on a database after the end of its test (postgres.ts). `vitest.config.ts` ignores this error. */
export const endedMessage = 'the test of this database has ended'

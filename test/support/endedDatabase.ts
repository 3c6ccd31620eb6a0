/** Error of a query on a database whose test has ended (postgres.ts). `vitest.config.ts` knows it too. */
export const endedMessage = 'the test of this database has ended'

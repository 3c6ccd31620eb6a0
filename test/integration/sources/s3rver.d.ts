/** The little of s3rver that the tests use; the package brings no types. */
declare module 's3rver' {
  export default class S3rver {
    constructor(options: { readonly port: number; readonly address: string; readonly silent: boolean; readonly directory: string })
    run(): Promise<{ readonly port: number }>
    close(): Promise<void>
  }
}

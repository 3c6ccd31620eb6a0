import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import S3rver from 's3rver'
import { expect } from 'vitest'
import { temporaryFolder } from './support.ts'

/** Credentials that the store below accepts. */
export const s3Env = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' }

/** An S3-compatible store on loopback with one bucket, `exports`. It supports ranges, but not If-Match. */
export async function openStore() {
  const folder = await temporaryFolder()
  const server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory: folder.path })
  const { port } = await server.run()
  const endpoint = `http://127.0.0.1:${port}`
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
  })
  await client.send(new CreateBucketCommand({ Bucket: 'exports' }))
  const file = (key: string) => join(folder.path, 'exports', `${key}._S3rver_object`)
  return {
    port,
    endpoint,
    /** Stores an object, and waits until its file is complete: s3rver answers before that. */
    put: async (key: string, body: string) => {
      await client.send(new PutObjectCommand({ Bucket: 'exports', Key: key, Body: body }))
      await expect.poll(() => readFile(file(key), 'utf8').catch(() => undefined)).toBe(body)
    },
    /** The file behind an object. */
    file,
    [Symbol.asyncDispose]: async () => {
      client.destroy()
      await server.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** The Ruby with the `oauth` gem; undefined if it is not installed. */
import { execFileSync } from 'node:child_process'

export const RUBY_CLIENT = 'needs ruby-oauth: apt-get install ruby-oauth'

/** Undefined if no interpreter can load it. */
export const ruby: string | undefined = ['/usr/bin/ruby', 'ruby'].find((candidate) => {
  try {
    execFileSync(candidate, ['-e', 'require "oauth"'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})

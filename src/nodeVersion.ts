/// <reference types="node" preserve="true" />
/**
 * Throws on a Node that the dependencies do not support. Otherwise a dependency would fail later without a clear message. The entry points
 * `sluice`, `sluice/client` and `sluice/sandbox` import this file first.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19))
  throw new Error(
    `Sluice needs Node 22.19 or newer as a library, and this is Node ${process.versions.node}; its command line brings its own Node`,
  )

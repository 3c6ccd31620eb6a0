/** Versions 11 and 12 live (docs/spec-notes.md#echoes-and-cursors 'Versions'): the older one serves the same resources, and warns. */
export const CURRENT_VERSION = '12'
export const OLDER_VERSION = '11'

/** Versions 11 and 12 live (gaps 7 'Versions'): the older one serves the same resources, and warns. */
export const CURRENT_VERSION = '12'
export const OLDER_VERSION = '11'

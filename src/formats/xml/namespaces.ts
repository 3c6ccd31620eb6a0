/** Namespaces of feeds, and of XInclude. */

/** Product namespace of Google Shopping feeds. */
export const productNamespace = 'http://base.google.com/ns/1.0'
/** Beginning of the product namespace. Only this is compared, because some exporters change the version or the end. */
export const productNamespaceStart = 'http://base.google.com/ns/'
export const atomNamespace = 'http://www.w3.org/2005/Atom'
export const xincludeNamespace = 'http://www.w3.org/2001/XInclude'

/** Product namespace of Google Shopping feeds, and the beginning that is compared, because some exporters change the version or its end. */
export const productNamespace = 'http://base.google.com/ns/1.0'
export const productNamespaces = 'http://base.google.com/ns/'
export const atomNamespace = 'http://www.w3.org/2005/Atom'
export const xincludeNamespace = 'http://www.w3.org/2001/XInclude'

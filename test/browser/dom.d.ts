/** Types of the few browser functions that tests run inside a page. The DOM library would declare them for all code. */
declare const document: {
  readonly activeElement: { readonly matches: (selector: string) => boolean } | null
  readonly scrollingElement: { readonly scrollWidth: number } | null
  readonly body: { readonly dataset: Record<string, string> }
  readonly querySelectorAll: (selector: string) => { readonly length: number }
}

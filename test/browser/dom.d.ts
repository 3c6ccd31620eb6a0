/** The little of a page that functions use which run inside of it. The library of the DOM would be there for all code. */
declare const document: {
  readonly activeElement: { readonly matches: (selector: string) => boolean } | null
  readonly scrollingElement: { readonly scrollWidth: number } | null
  readonly body: { readonly dataset: Record<string, string> }
  readonly querySelectorAll: (selector: string) => { readonly length: number }
}

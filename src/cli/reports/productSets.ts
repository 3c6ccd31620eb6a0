import type { ProductSetChange, RunReport } from '../../model/report.ts'
import { safe } from '../terminal/text.ts'

const shownNames = 3

/** Returns `1 create (Summer) · 1 delete (Winter)`; empty if nothing changes. */
export function setSummary({ productSets = [] }: Pick<RunReport, 'productSets'>): string {
  return (['create', 'update', 'replace', 'delete'] as const)
    .flatMap((action) => {
      const names = productSets.filter((change) => change.action === action && !isLeft(change)).map(({ name }) => name)
      if (names.length === 0) return []
      const rest = names.length > shownNames ? ', …' : ''
      return [`${names.length} ${action} (${safe(names.slice(0, shownNames).join(', '))}${rest})`]
    })
    .join(' · ')
}

/** Returns a line for each set that does not get the content of its rule. */
export function setProblems({ productSets = [] }: Pick<RunReport, 'productSets'>): string {
  return productSets
    .filter(isLeft)
    .map(
      ({ name, outcome, code = '', message = '' }) =>
        `product set  ${safe(name)}  ${outcome === 'planned' ? 'cannot be kept' : outcome}  ${safe(`${code}  ${message}`)}\n`,
    )
    .join('')
}

function isLeft({ outcome, code }: ProductSetChange): boolean {
  return outcome === 'refused' || outcome === 'unresolved' || code !== undefined
}

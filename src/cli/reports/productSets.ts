import type { ProductSetChange, RunReport } from '../../model/report.ts'
import { safe } from '../terminal/text.ts'

const maxShownNames = 3

/** Returns `1 create (Summer) · 1 delete (Winter)`; empty if no set changes. Sets with a problem are left out. */
export function setSummary({ productSets = [] }: Pick<RunReport, 'productSets'>): string {
  return (['create', 'update', 'replace', 'delete'] as const)
    .flatMap((action) => {
      const names = productSets.filter((change) => change.action === action && !hasProblem(change)).map(({ name }) => name)
      if (names.length === 0) return []
      const rest = names.length > maxShownNames ? ', …' : ''
      return [`${names.length} ${action} (${safe(names.slice(0, maxShownNames).join(', '))}${rest})`]
    })
    .join(' · ')
}

/** Returns a line for each set whose change is refused, unresolved or cannot be applied, with the reason. */
export function setProblems({ productSets = [] }: Pick<RunReport, 'productSets'>): string {
  return productSets
    .filter(hasProblem)
    .map(
      ({ name, outcome, code = '', message = '' }) =>
        `product set  ${safe(name)}  ${outcome === 'planned' ? 'cannot be applied' : outcome}  ${safe(`${code}  ${message}`)}\n`,
    )
    .join('')
}

function hasProblem({ outcome, code }: ProductSetChange): boolean {
  return outcome === 'refused' || outcome === 'unresolved' || code !== undefined
}

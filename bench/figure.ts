/** Types of a bench and of its figures. */

export interface Figure {
  readonly figure: string
  /** As people read it: `3.4 s, 162 MB`. */
  readonly measured: string
  /** Goal (docs/benchmarks.md); absent for figures that only show where time is spent. */
  readonly reach?: string
  /** Measured against what it is compared with in the same run: `3.6 x \copy`. */
  readonly ratio?: string
  readonly met?: boolean
}

export interface BenchContext {
  /** A tenth of the data, to see that everything runs. */
  readonly small: boolean
  /** The ten million rows and memberships too. */
  readonly large: boolean
  /** Rows of the customer export: 1,000,000, or 100,000 when small. */
  readonly rows: number
  /** `--rows N`, for benches with another size of their own. */
  readonly givenRows: number | undefined
  /** A temporary folder of this bench, removed afterwards. */
  readonly folder: string
  /** A new, migrated database on a server of this run. */
  readonly database: () => Promise<string>
  readonly say: (figure: Figure) => void
}

export type Bench = (context: BenchContext) => Promise<void>

export function seconds(value: number): string {
  return value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(2)} s`
}

export function times(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 0)} x`
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

export function table(figures: readonly Figure[]): string {
  const rows = figures.map(({ figure, measured, reach, ratio, met }) => [
    figure,
    measured,
    ratio ?? '',
    reach ?? '',
    met === undefined ? '' : met ? 'met' : 'SHORT',
  ])
  const lines = [['figure', 'measured', 'ratio', 'target', ''], ...rows]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

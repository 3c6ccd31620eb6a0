/** Types of a bench and of its figures. */

export interface Figure {
  readonly figure: string
  /** Measured value as text: `3.4 s, 162 MB`. */
  readonly measured: string
  /** Target of docs/benchmarks.md. Absent if the figure only shows where time is spent. */
  readonly target?: string
  /** Value relative to another one of the same run: `3.6 x \copy`. */
  readonly ratio?: string
  readonly met?: boolean
}

export interface BenchContext {
  /** True to use a tenth of the data. */
  readonly small: boolean
  /** True to also run the long cases, such as ten million rows. */
  readonly large: boolean
  /** Rows of the customer export: 1,000,000 by default, 100,000 if `small`. */
  readonly rows: number
  /** `--rows N`; undefined if a bench should use its own default. */
  readonly givenRows: number | undefined
  /** Temporary folder of the bench. Removed after it. */
  readonly folder: string
  /** Creates and migrates a database on the server of this run. Returns its URL. */
  readonly database: () => Promise<string>
  /** Prints a figure and adds it to the results. */
  readonly report: (figure: Figure) => void
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
  const rows = figures.map(({ figure, measured, target, ratio, met }) => [
    figure,
    measured,
    ratio ?? '',
    target ?? '',
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

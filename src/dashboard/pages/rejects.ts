/** Page `/runs/:id/rejects`: every reason, with samples and a CSV of all rows. */
import type { StoredRun } from '../../sync/reports/history.ts'
import type { RejectGroup } from '../../sync/reports/runDetails.ts'
import { command, count, html, none, plural } from '../html.ts'
import type { Page } from '../layout.ts'
import { rejectGroups } from '../rejectGroups.ts'

/** Builds the page. `columnsOf`: returns the columns of a source by its number. */
export function rejectsPage(run: StoredRun, groups: readonly RejectGroup[], columnsOf: (source: number) => readonly string[]): Page {
  const storedCount = groups.reduce((sum, group) => sum + group.count, 0)
  const most = Math.max(1, ...groups.map((group) => group.count))
  return {
    title: `Rejected rows of ${run.runId}`,
    crumbs: [
      [run.pipeline, `/pipelines/${run.pipeline}`],
      [run.runId, `/runs/${run.runId}`],
    ],
    body: html`<div class="head">
        <div>
          <h1>Rejected rows</h1>
          <p class="facts">
            <span><strong>${count(run.counts.rejected)}</strong> of ${plural(run.counts.read, 'row')} read by ${run.runId}</span>
          </p>
        </div>
        <div class="actions">
          ${storedCount === 0 ? none : html`<a class="button primary" href="/runs/${run.runId}/rejects.csv" download>Download CSV</a>`}
        </div>
      </div>
      ${
        storedCount === 0
          ? html`<div class="card empty">
              <h2>${run.counts.rejected === 0 ? 'No row was rejected' : 'The rows have expired'}</h2>
              ${run.counts.rejected === 0 ? none : html`<p class="muted">Rejected rows are kept for 30 days. Run the pipeline again to see them.</p>`}
              ${command(`sluice run ${run.pipeline}`)}
            </div>`
          : html`<section aria-labelledby="by-code">
                <h2 id="by-code">By reason</h2>
                <div class="card pad">
                  <ul class="hbars">
                    ${groups.slice(0, 8).map(
                      (group) =>
                        html`<li>
                          <code>${group.code}</code
                          ><svg class="stack" aria-hidden="true">
                            <rect class="fail" x="0" y="0" height="22" width="${((group.count / most) * 100).toFixed(1)}%" /></svg
                          ><strong>${count(group.count)}</strong>
                        </li>`,
                    )}
                  </ul>
                </div>
              </section>
              <section aria-label="Samples">${rejectGroups(groups, columnsOf)}</section>
              <p class="small muted">
                Personal cells are masked. ${command(`sluice rejects ${run.runId} --csv ${run.runId}.csv --from-source`)} writes them in
                full.
              </p>`
      }`,
  }
}

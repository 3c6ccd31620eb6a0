/** Page `/records`: the history of one record. The search is a POST, so that no key is in an address or a log. */
import type { Pipeline } from '../../model/pipeline.ts'
import type { RecordHistory, RecordEvent } from '../../sync/reports/recordHistory.ts'
import { clockTime, command, hintOf, html, none, notice, raw, type Html, type Tone } from '../html.ts'
import type { Page } from '../layout.ts'
import { destinationOf } from '../../destinations/index.ts'

export interface RecordsData {
  readonly pipelines: readonly Pipeline[]
  /** Name of the pipeline that the form shows as selected. */
  readonly selectedPipeline?: string
  /** History of the record; absent before a search. */
  readonly history?: RecordHistory
  /** Reason why the search was rejected. */
  readonly problem?: string
}

export function recordsPage({ pipelines, selectedPipeline, history, problem }: RecordsData): Page {
  return {
    title: 'Records',
    current: 'records',
    body: html`<div>
        <h1>Records</h1>
        <p class="muted">Why is a product or person live, or not? Emails and phones are hashed on arrival and are not logged.</p>
      </div>
      ${
        pipelines.length === 0
          ? html`<div class="card empty">
              <h2>No pipelines to search</h2>
              <p class="muted">A record belongs to a pipeline. The page <a href="/">Now</a> says what to do.</p>
            </div>`
          : html`<form class="card pad row-form" method="post" action="/records" role="search">
              <label for="pipeline"
                >Pipeline<select id="pipeline" name="pipeline">
                  ${pipelines.map(({ name }) => html`<option${name === selectedPipeline ? raw(' selected') : none}>${name}</option>`)}
                </select></label
              ><label for="key"
                >Product id, customer key, email or phone<input
                  id="key"
                  name="key"
                  required
                  maxlength="500"
                  autocomplete="off"
                  autocapitalize="none"
                  spellcheck="false" /></label
              ><button class="primary">Look it up</button>
            </form>`
      }
      ${problem === undefined ? none : notice('fail', html`<p>${problem}</p>`)}
      ${history === undefined ? searchHelp(pipelines) : historyView(history)}`,
  }
}

function searchHelp(pipelines: readonly Pipeline[]): Html {
  const [first] = pipelines
  if (first === undefined) return none
  return html`<div class="card empty">
    <h2>Look up one record</h2>
    <p class="muted">
      The first line says whether the record is live, and why. The others show where it was read, what was planned, sent and answered, and
      when a membership ends.
    </p>
    ${command(`sluice explain ${first.name} ${destinationOf(first.destination.kind).words.exampleKey}`)}
  </div>`
}

function historyView({ headline, live, isConfirmed, events }: RecordHistory): Html {
  const tone: Tone = events.length === 0 ? 'idle' : isConfirmed ? 'ok' : live ? 'warn' : 'fail'
  return html`<section aria-labelledby="answer">
    ${notice(tone, html`<h2 id="answer" class="headline">${headline}</h2>`)}
    ${
      events.length === 0
        ? none
        : html`<ol class="card timeline">
            ${events.map(eventItem)}
          </ol>`
    }
  </section>`
}

function eventItem(recordEvent: RecordEvent): Html {
  const { at, what, message, runId, planId, batch, httpStatus, code, value, digest, expiresAt, hint } = recordEvent
  return html`<li>
    ${clockTime(at)}
    <div>
      <strong>${what}</strong> ${message}
      <p class="small muted">
        ${runId === undefined ? none : html`<a href="/runs/${runId}">${runId}</a> `}${planId === undefined ? none : html`<a href="/plans/${planId}">${planId}</a> `}${batch === undefined ? none : html`<a href="/batches/${batch}">batch ${batch}</a> `}${httpStatus === undefined ? none : `HTTP ${httpStatus} `}${code === undefined ? none : html`<code>${code}</code> `}${expiresAt === undefined ? none : html`until ${clockTime(expiresAt)}`}
      </p>
      ${
        value === undefined || value === ''
          ? none
          : html`<details>
              <summary class="small">Content</summary>
              <code class="small">${value}</code>
            </details>`
      }${digest === undefined ? none : html`<p class="small muted mono">sha256 ${digest}</p>`}${hintOf(hint)}
    </div>
  </li>`
}

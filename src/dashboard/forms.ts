/** Renders the forms of actions. Each is a plain POST, so that it works without scripts. */
import { count, html, none, type Html } from './html.ts'

/** Renders a button that posts to `action`. */
export function actionButton(action: string, text: string, options: { readonly primary?: boolean } = {}): Html {
  return html`<form method="post" action="${action}"><button${options.primary ? html` class="primary"` : none}>${text}</button></form>`
}

/** Renders the optional field `reason`. */
export function reasonField(id: string, placeholder = ''): Html {
  return html`<label for="${id}"
    >Reason <span class="hint">optional, kept in the audit log</span
    ><input id="${id}" name="reason" maxlength="500" autocomplete="off" placeholder="${placeholder}"
  /></label>`
}

/** Renders the menu with pause and full refresh. `minutes`: least duration of a full refresh; undefined if it is not known. */
export function pipelineMenu(pipeline: string, options: { readonly isPaused: boolean; readonly minutes: number | undefined }): Html {
  const path = `/pipelines/${pipeline}`
  return html`<details class="menu" id="more">
    <summary>More actions</summary>
    <div>
      ${
        options.isPaused
          ? none
          : html`<form class="form" method="post" action="${path}/pause">
              <h3>Pause</h3>
              <p class="small muted">No run starts until an operator resumes it. A run in progress continues.</p>
              ${reasonField('pause-reason')}
              <div><button>Pause ${pipeline}</button></div>
            </form>`
      }
      <form class="form" method="post" action="${path}/full">
        <h3>Full refresh</h3>
        <p class="small muted">
          Sends every record
          again${options.minutes === undefined ? '' : `, in ${options.minutes === 0 ? 'less than a minute' : `at least ${count(options.minutes)} min`} at the service's limits`}.
        </p>
        <label for="full-name"
          >Type the name of the pipeline<input id="full-name" name="name" required autocomplete="off" placeholder="${pipeline}"
        /></label>
        <div><button>Send everything again</button></div>
      </form>
    </div>
  </details>`
}

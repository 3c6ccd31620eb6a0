// Live text and plots. Every page and form works without this file.
;(() => {
  const body = document.body
  const lost = document.getElementById('lost')
  const announce = document.getElementById('announce')
  let etag = body.dataset.etag
  let asOf = new Date()
  let failures = 0
  let timer
  const sources = new Map()
  const parts = (root) => root.querySelectorAll('[data-live]')
  for (const part of parts(document)) sources.set(part.dataset.live, part.innerHTML)

  function next(ms) {
    clearTimeout(timer)
    if (!document.hidden && body.dataset.poll) timer = setTimeout(poll, ms)
  }

  async function poll() {
    let reason = 'The server does not answer.'
    try {
      const answer = await fetch(location.href, {
        headers: { 'If-None-Match': etag },
        cache: 'no-store',
        signal: AbortSignal.timeout(10000),
        redirect: 'manual',
      })
      // The only redirect of a page leads to the sign-in.
      if (answer.type === 'opaqueredirect') reason = 'You are signed out: load the page again to sign in.'
      if (answer.status !== 304) {
        if (!answer.ok) throw new Error(String(answer.status))
        const whole = apply(new DOMParser().parseFromString(await answer.text(), 'text/html'))
        etag = whole ? answer.headers.get('etag') : ''
      }
      asOf = new Date()
      failures = 0
      body.classList.remove('is-lost')
      lost.hidden = true
    } catch {
      failures++
      if (failures > 1) {
        body.classList.add('is-lost')
        lost.hidden = false
        const text = reason + ' This page is as of ' + asOf.toISOString().slice(11, 19) + ' UTC; retrying.'
        if (lost.textContent !== text) lost.textContent = text
      }
    }
    next(failures ? 2000 : Number(body.dataset.poll))
  }

  // Text changes in place. Returns false if a busy part stays as it is.
  function apply(fresh) {
    const state = fresh.body.dataset.state
    if (state !== body.dataset.state) announce.textContent = state
    for (const name of ['state', 'poll']) body.dataset[name] = fresh.body.dataset[name] ?? ''
    document.title = fresh.title
    let whole = true
    for (const part of parts(fresh)) {
      const key = part.dataset.live
      const own = document.querySelector('[data-live="' + key + '"]')
      if (!own || sources.get(key) === part.innerHTML) continue
      if (isBusy(own)) {
        whole = false
        continue
      }
      sources.set(key, part.innerHTML)
      const open = [...own.querySelectorAll('details[open]')].map((one) => one.id)
      const active = document.activeElement
      const focused = active !== own && own.contains(active) && placeOf(active)
      const scrolled = [...own.querySelectorAll('.scroll')].map((one) => one.scrollLeft)
      own.innerHTML = part.innerHTML
      for (const id of open) if (id) document.getElementById(id)?.setAttribute('open', '')
      for (const one of own.querySelectorAll('.scroll')) one.scrollLeft = scrolled.shift() ?? 0
      if (focused) refocus(own, focused)
      plots(own)
    }
    newer(fresh)
    return whole
  }

  const placeOf = (one) => [one.tagName, one.closest('[id]')?.id, one.href, one.form?.action, one.ariaLabel].join()

  // Without that element, the part gets the focus.
  function refocus(part, place) {
    const same = [...part.querySelectorAll('*')].find((one) => placeOf(one) === place)
    if (!same && part.tabIndex < 0) part.tabIndex = -1
    ;(same ?? part).focus({ preventScroll: true })
  }

  // No click hits another button than the one below the pointer.
  function isBusy(part) {
    return (
      part.matches(':active, .actions:hover') ||
      (part.contains(document.activeElement) && document.activeElement.matches('input, select')) ||
      [...part.querySelectorAll('input')].some((input) => input.type !== 'hidden' && input.value !== input.defaultValue)
    )
  }

  // Rows are not pushed into a table: a link says that there are newer ones.
  function newer(fresh) {
    const link = document.getElementById('newer')
    const rows = fresh.querySelector('[data-runs]')
    if (!link || !rows) return
    const known = new Set([...document.querySelectorAll('[data-runs] tr[id]')].map((row) => row.id))
    const count = [...rows.querySelectorAll('tr[id]')].filter((row) => !known.has(row.id)).length
    link.hidden = count === 0
    link.textContent = count + (count === 1 ? ' newer run: show it' : ' newer runs: show them')
  }

  const color = (name) =>
    getComputedStyle(document.documentElement)
      .getPropertyValue('--' + name)
      .trim()

  // A plot is drawn from the table beside it.
  function plots(root) {
    if (!window.uPlot) return
    for (const figure of root.querySelectorAll('figure[data-plot]')) {
      const place = figure.querySelector('.canvas')
      const heads = [...figure.querySelectorAll('thead th')].slice(1)
      const rows = [...figure.querySelectorAll('tbody tr')]
      const labels = rows.map((row) => row.cells[0].textContent.trim())
      const value = (row, i) => {
        const text = row.cells[i + 1].dataset.value
        return text === '' ? null : Number(text)
      }
      const columns = heads.map((_, i) => rows.map((row) => value(row, i)))
      const stacked = figure.dataset.plot === 'stack'
      const shown = columns.map((column, i) =>
        stacked ? column.map((_, row) => columns.slice(0, i + 1).reduce((sum, one) => sum + (one[row] ?? 0), 0)) : column,
      )
      const order = heads.map((_, i) => i)
      if (stacked) order.reverse()
      const ink = color('muted')
      const axis = {
        stroke: ink,
        grid: { stroke: color('line'), width: 1 },
        ticks: { show: false },
        font: '12px ' + getComputedStyle(body).fontFamily,
      }
      const series = order.map((i) => {
        const fill = color(heads[i].dataset.color)
        return figure.dataset.plot === 'line'
          ? {
              label: heads[i].textContent,
              stroke: fill,
              width: 2,
              points: { show: rows.length < 60, size: 5, fill },
              dash: 'dash' in heads[i].dataset ? [6, 4] : undefined,
            }
          : {
              label: heads[i].textContent,
              fill,
              stroke: fill,
              width: 0,
              paths: uPlot.paths.bars({ size: [0.72, 26] }),
              points: { show: false },
            }
      })
      place.textContent = ''
      const options = {
        width: Math.max(220, place.clientWidth),
        height: 190,
        legend: { show: false },
        cursor: { show: false },
        padding: [10, 14, 0, 0],
        scales: {
          x: { time: false, range: (_, min, max) => [min - 0.6, max + 0.6] },
          y: { range: (_, min, max) => [0, Math.max(max, 1) * 1.08] },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            size: 26,
            space: 60,
            incrs: [1, 2, 5, 10, 20, 50],
            values: (_, at) => at.map((i) => labels[i] ?? ''),
          },
          {
            ...axis,
            size: 52,
            space: 34,
            values: (_, at) => at.map((n) => (n >= 1e6 ? n / 1e6 + 'M' : n >= 1e4 ? n / 1e3 + 'k' : n.toLocaleString('en-US'))),
          },
        ],
        series: [{}, ...series],
      }
      new uPlot(options, [labels.map((_, i) => i), ...order.map((i) => shown[i])], place)
    }
  }

  document.addEventListener('visibilitychange', () => next(0))
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    const menu = document.activeElement?.closest('details.menu[open]')
    if (!menu) return
    menu.open = false
    menu.querySelector('summary').focus()
  })
  document.addEventListener('click', (event) => {
    for (const menu of document.querySelectorAll('details.menu[open]')) if (!menu.contains(event.target)) menu.open = false
  })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plots(document))
  let resized
  addEventListener('resize', () => {
    clearTimeout(resized)
    resized = setTimeout(() => plots(document), 150)
  })
  plots(document)
  next(Number(body.dataset.poll))
})()

/** Builds the texts of an alert: for Slack, for webhooks and for email. */
import { z } from 'zod'
import type { DueDelivery } from '../db/alerts.ts'
import { jsonColumn } from '../db/jsonColumn.ts'
import { cutText } from '../cutText.ts'
import { conditionEvents, type Condition, type ConditionEvent } from './conditions.ts'

/** Texts of an alert: subject and text for Slack and email, body for webhooks. `link`: address of a page of the dashboard. */
export interface AlertMessage {
  readonly subject: string
  readonly text: string
  readonly link: string
  /** Environment for Slack and email, `https://ads.example.com as user 7 of application 3f9a…`. Empty if the schema has only one. */
  readonly environment: string
  readonly body: AlertBody
}

/** Body of a signed webhook, and the `sluice` key of a Slack message. */
export interface AlertBody {
  readonly event: ConditionEvent
  readonly state: 'firing' | 'recovered'
  readonly pipeline: string
  readonly runId: string | null
  readonly planId: string | null
  readonly code: string
  readonly message: string
  readonly hint: string
  readonly counts: Readonly<Record<string, number>>
  readonly link: string
  /** Time at which the alert fired or recovered, ISO 8601. */
  readonly at: string
  /** Address of the service of the pipeline. Null for an alert of an earlier version. */
  readonly service: string | null
  /** Application and user of the pipeline; for `sluice.yaml` with its folder. Null for an alert of an earlier version. */
  readonly credentials: string | null
}

type Detail = Omit<Condition, 'pipeline' | 'event' | 'since'>
const detailSchema: z.ZodType<Detail> = z.object({
  code: z.string(),
  message: z.string(),
  hint: z.string(),
  runId: z.string().exactOptional(),
  planId: z.string().exactOptional(),
  counts: z.record(z.string(), z.number()),
})
/** Decodes the stored condition of an alert. The arguments and errors are those of `jsonColumn`. */
export const decodeAlertDetail = jsonColumn('alert', 'detail', detailSchema)

const headlines: Readonly<Record<ConditionEvent, string>> = {
  failed: 'FAILED',
  credentials: 'CREDENTIALS REFUSED',
  withheld: 'NEEDS APPROVAL',
  stopped: 'STOPPED',
  partial: 'PARTIAL',
  unresolved: 'UNRESOLVED',
  stale: 'STALE',
  lapse: 'MEMBERSHIPS AT RISK',
}

/** Maximum length of a text in characters. */
const longestText = 2_800
/** Maximum length of a section of Slack with the link and the environment. Slack rejects a message with a longer one. */
const longestSection = 3_000

/** Builds the message of a delivery. An unknown event of another version counts as `failed`. `baseUrl`: address of the dashboard. */
export function alertMessage(delivery: DueDelivery, baseUrl: string): AlertMessage {
  const { pipeline, state } = delivery
  const event = conditionEvents.find((name) => name === delivery.event) ?? 'failed'
  const condition = decodeAlertDetail(delivery.detail, delivery.alertId)
  const { runId = null, planId = null } = condition
  // An alert about an invalid file links to the first page, which lists the problems of all files. The name of the file may not be the name
  // of a pipeline.
  const page = event === 'failed' && runId === null ? '/' : `/pipelines/${pipeline}`
  const path = event === 'withheld' && planId !== null ? `/plans/${planId}` : runId === null ? page : `/runs/${runId}`
  const link = `${baseUrl.replace(/\/+$/, '')}${state === 'firing' ? path : page}`
  const subject = state === 'firing' ? `${headlines[event]} ${pipeline}` : `RECOVERED ${pipeline}: ${headlines[event].toLowerCase()}`
  const text =
    state === 'firing'
      ? `${subject}: ${condition.message}${condition.hint === '' ? '' : `. hint: ${condition.hint}`}`
      : `${subject} is over`
  const at = (state === 'firing' ? delivery.firedAt : (delivery.recoveredAt ?? delivery.firedAt)).toISOString()
  const { code, message, hint, counts } = condition
  const orNull = (part: string) => (part === '' ? null : part)
  const [service, credentials] = [orNull(delivery.service), orNull(delivery.credentials)]
  return {
    subject,
    text,
    link,
    environment: delivery.hasSeveralEnvironments ? environmentText({ service, credentials }) : '',
    body: { event, state, pipeline, runId, planId, code, message, hint, counts, link, at, service, credentials },
  }
}

/**
 * Cuts an escaped text to the maximum length, but not within a character or an escape such as `&amp;`. `tailLength`: length of what follows
 * the text in its section.
 */
function shortened(text: string, tailLength = 0): string {
  const longest = Math.max(0, Math.min(longestText, longestSection - tailLength))
  return text.length > longest ? cutText(text, longest).replace(/&[a-z]*$/, '') : text
}

/** Returns the JSON body for an incoming webhook of Slack. */
export function slackBody({ text, subject, link, environment, body }: AlertMessage): object {
  const rest = text.slice(subject.length)
  const tail = `\n<${link}|${escaped(linkText(body))}>${environment === '' ? '' : ` · ${escaped(environment)}`}`
  const section = shortened(`*${escaped(subject)}*${escaped(rest)}`, tail.length)
  return {
    text: shortened(escaped(text)),
    blocks: [
      {
        type: 'section',
        text: {
          type: 'mrkdwn',
          text: `${section}${tail}`,
        },
      },
    ],
    sluice: body,
  }
}

/** Returns the environment of an alert: `https://ads.example.com as user 7 of application 3f9a…`. Empty if it is unknown. */
function environmentText({ service, credentials }: Pick<AlertBody, 'service' | 'credentials'>): string {
  return service === null ? '' : `${service}${credentials === null ? '' : ` as ${credentials}`}`
}

function linkText({ event, state, planId, runId, pipeline }: AlertBody): string {
  if (state === 'recovered') return `Open ${pipeline}`
  return event === 'withheld' && planId !== null ? 'Review the plan' : `Open ${runId ?? pipeline}`
}

/** Escapes the three characters that are markup in Slack. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

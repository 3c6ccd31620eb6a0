import { cutText } from './cutText.ts'

/**
 * Removes digests, email addresses, phone numbers and control characters from a text, and shortens it to 300 characters. A text of the
 * service may repeat what was sent. So every such text is cleaned before it is stored, shown or logged
 * (docs/guarantees.md#no-raw-identifier-at-rest). Values of sources are masked by `mapping/redactPersonalData.ts`.
 */
export function redactServiceText(value: string): string {
  const text = cutText(value, 2_000)
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .replace(/[0-9a-f]{64}/gi, '[digest]')
    .replace(/[^\s"'<>@]+[@＠][^\s"'<>@]+/g, '[email]')
    .replace(/[+＋]\p{Nd}[\p{Nd} ().-]{6,}\p{Nd}/gu, '[phone]')
  return cutText(text, 300).trim()
}

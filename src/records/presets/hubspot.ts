import type { Preset } from './preset.ts'

/** Contacts of HubSpot. The owner is a colleague and is never read (bad-inputs 190). */
export const hubspot: Preset = {
  name: 'hubspot',
  title: 'HubSpot contact export',
  kind: 'members',
  sample: [
    'Record ID',
    'First Name',
    'Last Name',
    'Email',
    'Phone Number',
    'Mobile Phone Number',
    'Contact owner',
    'Marketing contact status',
    'Lifecycle Stage',
    'Country/Region',
    'Create Date',
    'Unsubscribed from all email',
  ],
  recognize: ['Record ID', 'Email', 'Contact owner'],
  recognizeAlso: [['Record ID', 'First Name', 'Last Name', 'Email']],
  map: {
    key: { columns: ['Record ID'] },
    email: { columns: ['Email'] },
    phone_number: { columns: ['Phone Number', 'Mobile Phone Number'], defaultCountry: ['Country/Region'] },
  },
  consent: [
    { columns: ['Unsubscribed from all email'], values: ['false', 'no', ''], expected: true },
    { columns: ['Email hard bounce reason'], values: [''] },
    { columns: ['Invalid email address'], values: ['false', 'no', ''] },
  ],
}

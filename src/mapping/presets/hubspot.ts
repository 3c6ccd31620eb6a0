import type { Preset } from './preset.ts'

/**
 * Contacts of HubSpot. The column of the contact owner, an employee of the merchant, is not mapped. If a pipeline maps it, the warning
 * `OWNER_COLUMN` withholds the run (docs/inputs.md, case 190).
 */
export const hubspot: Preset = {
  name: 'hubspot',
  title: 'HubSpot contact export',
  records: 'members',
  typicalColumns: [
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
  identifyingColumns: ['Record ID', 'Email', 'Lifecycle Stage'],
  otherIdentifyingSets: [
    ['Record ID', 'Email', 'Marketing contact status'],
    ['Record ID', 'Email', 'Unsubscribed from all email'],
    ['Record ID', 'Email', 'Associated Company'],
    ['Record ID', 'Email', 'Original Source'],
    ['Record ID', 'Email', 'Create Date'],
    ['Record ID', 'First Name', 'Last Name', 'Email', 'Contact owner'],
  ],
  // Other CRMs have a record id too.
  columnsOfOtherExports: [
    'Created Time',
    'Modified Time',
    'Account Name',
    'Email Opt Out',
    'Contact Owner Id',
    'Mailing Street',
    'Layout',
    'Created By',
  ],
  map: {
    key: { columns: ['Record ID'] },
    email: { columns: ['Email'] },
    phone_number: { columns: ['Phone Number', 'Mobile Phone Number'], defaultCountry: ['Country/Region'] },
  },
  consent: [
    { columns: ['Unsubscribed from all email'], values: ['false', '0', 'no', ''], expected: true },
    { columns: ['Email hard bounce reason'], values: [''] },
    { columns: ['Invalid email address'], values: ['false', '0', 'no', ''] },
  ],
}

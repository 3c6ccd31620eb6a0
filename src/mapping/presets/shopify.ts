import type { Preset } from './preset.ts'

/** Customers of a Shopify shop. */
export const shopify: Preset = {
  name: 'shopify',
  title: 'Shopify customer export',
  records: 'members',
  typicalColumns: [
    'Customer ID',
    'First Name',
    'Last Name',
    'Email',
    'Accepts Email Marketing',
    'Default Address Company',
    'Default Address Address1',
    'Default Address City',
    'Default Address Country Code',
    'Default Address Zip',
    'Default Address Phone',
    'Phone',
    'Accepts SMS Marketing',
    'Total Spent',
    'Total Orders',
    'Note',
    'Tax Exempt',
    'Tags',
  ],
  identifyingColumns: ['Customer ID', 'Email', 'Accepts Email Marketing', 'Phone'],
  // Exports before 2023 and the import template have no id.
  otherIdentifyingSets: [
    ['First Name', 'Last Name', 'Email', 'Accepts Email Marketing', 'Default Address Phone'],
    ['First Name', 'Last Name', 'Email', 'Accepts Marketing', 'Phone', 'Total Spent', 'Total Orders'],
  ],
  map: {
    key: { columns: ['Customer ID', 'Email', 'Phone'] },
    email: { columns: ['Email'] },
    phone_number: { columns: ['Phone', 'Default Address Phone'], defaultCountry: ['Default Address Country Code', 'Country Code'] },
  },
  consent: [
    { columns: ['Accepts Email Marketing', 'Accepts Marketing'], values: ['yes', 'true', '1'], expected: true },
    { columns: ['Accepts SMS Marketing'], values: ['yes', 'true', '1'], appliesTo: 'phone_number' },
  ],
}

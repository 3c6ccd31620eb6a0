import type { Preset } from './preset.ts'

/**
 * Upload template of Google customer match, with raw values or digests. It has no key column, so the first usable one of email, phone
 * number and device id is the key.
 */
export const googleCustomerMatch: Preset = {
  name: 'google-customer-match',
  title: 'Google customer match list',
  records: 'members',
  isTemplate: true,
  typicalColumns: ['Email', 'Phone', 'First Name', 'Last Name', 'Country', 'Zip'],
  identifyingColumns: ['Email', 'Phone', 'First Name', 'Last Name', 'Country', 'Zip'],
  otherIdentifyingSets: [['Email', 'First Name', 'Last Name', 'Country', 'Zip']],
  map: {
    key: { columns: ['Email', 'Phone', 'Mobile Device ID'] },
    email: { columns: ['Email'] },
    phone_number: { columns: ['Phone'], defaultCountry: ['Country'] },
    device_id: { columns: ['Mobile Device ID'] },
  },
}

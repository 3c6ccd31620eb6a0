import type { Preset } from './preset.ts'

/**
 * Upload template for a customer list of Meta, with three columns `email` and three columns `phone`. Such a header is rejected
 * (`FILE_DUPLICATE_COLUMN`) until the pipeline maps all of them (docs/inputs.md, case 192). Renamed columns are read too: `email_1`,
 * `phone_1` and so on.
 */
export const metaCustomerList: Preset = {
  name: 'meta-customer-list',
  title: 'Meta customer list',
  records: 'members',
  isTemplate: true,
  typicalColumns: [
    'email',
    'email',
    'email',
    'phone',
    'phone',
    'phone',
    'madid',
    'fn',
    'ln',
    'zip',
    'ct',
    'st',
    'country',
    'dob',
    'doby',
    'gen',
    'age',
    'uid',
    'value',
  ],
  identifyingColumns: ['email', 'phone', 'madid', 'fn', 'ln'],
  otherIdentifyingSets: [
    ['email_1', 'phone_1', 'madid', 'fn', 'ln'],
    ['email', 'phone', 'fn', 'ln', 'ct', 'st'],
  ],
  map: {
    key: { columns: ['uid', 'extern_id', 'email', 'email_1', 'phone', 'phone_1', 'madid'] },
    email: { columns: ['email', 'email_1', 'email_2', 'email_3'] },
    phone_number: { columns: ['phone', 'phone_1', 'phone_2', 'phone_3'], defaultCountry: ['country'] },
    device_id: { columns: ['madid'] },
  },
}

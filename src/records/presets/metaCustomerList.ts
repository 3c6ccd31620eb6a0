import type { Preset } from './preset.ts'

/** Upload template of a customer list. The template repeats headers; files do so rarely. */
export const metaCustomerList: Preset = {
  name: 'meta-customer-list',
  title: 'Meta customer list',
  kind: 'members',
  sample: [
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
  recognize: ['email', 'phone', 'madid', 'fn', 'ln'],
  map: {
    key: { columns: ['uid', 'email'] },
    email: { columns: ['email', 'email_1', 'email_2', 'email_3'] },
    phone_number: { columns: ['phone', 'phone_1', 'phone_2', 'phone_3'], defaultCountry: 'country' },
    device_id: { columns: ['madid'] },
  },
}

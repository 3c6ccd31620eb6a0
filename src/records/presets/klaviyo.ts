import type { Preset } from './preset.ts'

/** Profiles of Klaviyo; only those subscribed to email. */
export const klaviyo: Preset = {
  name: 'klaviyo',
  title: 'Klaviyo profile export',
  kind: 'members',
  sample: [
    'Email',
    'Klaviyo ID',
    'First Name',
    'Last Name',
    'Organization',
    'Title',
    'Phone Number',
    'Address',
    'City',
    'State / Region',
    'Country',
    'Zip Code',
    'Email Marketing Consent',
    'SMS Marketing Consent',
    'Last Active',
    'Profile Created On',
  ],
  recognize: ['Email', 'Klaviyo ID', 'Email Marketing Consent'],
  map: {
    key: { columns: ['Klaviyo ID'] },
    email: { columns: ['Email'] },
    phone_number: { columns: ['Phone Number'] },
  },
  consent: { column: 'Email Marketing Consent', values: ['subscribed'] },
}

import type { Preset } from './preset.ts'

/**
 * Profiles of Klaviyo. A profile has consent if it is subscribed to email and is not suppressed (bounced, complained, unsubscribed). Its
 * phone number also needs a subscription to SMS.
 */
export const klaviyo: Preset = {
  name: 'klaviyo',
  title: 'Klaviyo profile export',
  records: 'members',
  typicalColumns: [
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
    'Email Marketing Consent Timestamp',
    'Email Suppressions',
    'SMS Marketing Consent',
    'Last Active',
    'Profile Created On',
  ],
  identifyingColumns: ['Email', 'Klaviyo ID', 'Email Marketing Consent'],
  // The export of a single list has no id.
  otherIdentifyingSets: [['Email', 'First Name', 'Last Name', 'Phone Number', 'Email Marketing Consent']],
  map: {
    key: { columns: ['Klaviyo ID', 'Email', 'Phone Number'] },
    email: { columns: ['Email'] },
    phone_number: { columns: ['Phone Number'], defaultCountry: ['Country'] },
  },
  consent: [
    { columns: ['Email Marketing Consent'], values: ['subscribed'], expected: true },
    { columns: ['Email Suppressions', 'Suppressed'], values: ['', '[]', 'false', 'no', 'none'] },
    { columns: ['SMS Marketing Consent'], values: ['subscribed'], appliesTo: 'phone_number' },
  ],
}

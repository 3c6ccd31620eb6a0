import type { Preset } from './preset.ts'

/**
 * Members of a Mailchimp audience. Mailchimp exports a file for each status:
 * - subscribed
 * - unsubscribed: has the column `UNSUB_TIME`
 * - cleaned (the address bounced): has the column `CLEAN_TIME`
 * - non-subscribed, such as customers who never agreed: has the columns of the subscribed file, so its name decides (`unconsentedFile`)
 */
export const mailchimp: Preset = {
  name: 'mailchimp',
  title: 'Mailchimp audience export',
  records: 'members',
  typicalColumns: [
    'Email Address',
    'First Name',
    'Last Name',
    'Address',
    'Phone Number',
    'MEMBER_RATING',
    'OPTIN_TIME',
    'OPTIN_IP',
    'CONFIRM_TIME',
    'CONFIRM_IP',
    'LATITUDE',
    'LONGITUDE',
    'GMTOFF',
    'DSTOFF',
    'TIMEZONE',
    'CC',
    'REGION',
    'LAST_CHANGED',
    'LEID',
    'EUID',
    'NOTES',
    'TAGS',
  ],
  identifyingColumns: ['Email Address', 'MEMBER_RATING', 'LEID', 'EUID'],
  map: {
    key: { columns: ['EUID'] },
    email: { columns: ['Email Address'] },
    phone_number: { columns: ['Phone Number', 'SMS Phone Number'], defaultCountry: ['CC'] },
  },
  consent: [
    { columns: ['UNSUB_TIME'], values: [''] },
    { columns: ['CLEAN_TIME'], values: [''] },
    { columns: ['SMS_MARKETING_STATUS'], values: ['subscribed'], appliesTo: 'phone_number' },
  ],
  unconsentedFile: /(?:^|[^a-z])non-?subscribed_/i,
  // Details of a consent, which do not decide it.
  ignore: [
    'OPTIN_TIME',
    'OPTIN_IP',
    'UNSUB_REASON',
    'UNSUB_REASON_OTHER',
    'UNSUB_CAMPAIGN_TITLE',
    'UNSUB_CAMPAIGN_ID',
    'CLEAN_CAMPAIGN_TITLE',
    'CLEAN_CAMPAIGN_ID',
  ],
}

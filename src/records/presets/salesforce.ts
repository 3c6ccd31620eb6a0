import type { Preset } from './preset.ts'

/** Contacts of Salesforce by API names (Data Loader). */
export const salesforce: Preset = {
  name: 'salesforce',
  title: 'Salesforce contact export',
  kind: 'members',
  sample: [
    'Id',
    'AccountId',
    'LastName',
    'FirstName',
    'Salutation',
    'MailingCountryCode',
    'Phone',
    'Fax',
    'MobilePhone',
    'HomePhone',
    'Email',
    'Title',
    'Department',
    'OwnerId',
    'HasOptedOutOfEmail',
    'DoNotCall',
    'CreatedDate',
  ],
  recognize: ['Id', 'LastName', 'Email', 'OwnerId', 'HasOptedOutOfEmail'],
  map: {
    key: { columns: ['Id'] },
    email: { columns: ['Email'] },
    phone_number: { columns: ['MobilePhone', 'Phone', 'HomePhone'], defaultCountry: 'MailingCountryCode' },
  },
  consent: { column: 'HasOptedOutOfEmail', values: ['false', '0', 'no'] },
}

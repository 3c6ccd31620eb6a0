import type { Preset } from './preset.ts'

/** Contacts of Salesforce. The columns have API names (Data Loader) or the labels of a report. */
export const salesforce: Preset = {
  name: 'salesforce',
  title: 'Salesforce contact export',
  records: 'members',
  typicalColumns: [
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
  identifyingColumns: ['Id', 'LastName', 'Email', 'OwnerId', 'HasOptedOutOfEmail'],
  otherIdentifyingSets: [['Contact ID', 'Last Name', 'Email', 'Email Opt Out']],
  map: {
    key: { columns: ['Id', 'Contact ID'] },
    email: { columns: ['Email'] },
    phone_number: {
      columns: ['MobilePhone', 'Mobile', 'Phone', 'HomePhone', 'Home Phone'],
      defaultCountry: ['MailingCountryCode', 'MailingCountry', 'Mailing Country'],
    },
  },
  consent: [
    { columns: ['HasOptedOutOfEmail', 'Email Opt Out'], values: ['false', '0', 'no'], expected: true },
    { columns: ['EmailBouncedDate', 'Email Bounced Date'], values: [''] },
    // This column is only about calls. Still, a contact who does not want calls counts as opted out of everything.
    { columns: ['DoNotCall', 'Do Not Call'], values: ['false', '0', 'no', ''] },
    { columns: ['IsDeleted'], values: ['false', '0', 'no', ''] },
  ],
}

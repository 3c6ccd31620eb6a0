/** Exports of people from shops, newsletters and CRMs of several countries, with the people who may be reached. */

export type Cells = Readonly<Record<string, string>>

export interface ExportOfPeople {
  readonly name: string
  readonly delimiter?: string
  /** Header → the cell of person `i`. */
  readonly columns: Readonly<Record<string, (i: number) => string>>
  /** Headers of the emails and phone numbers of the person. */
  readonly emails: readonly string[]
  readonly phones?: readonly string[]
  /** True if the row has a yes; every row if undefined. */
  readonly yes?: (row: Cells) => boolean
  /** True if its phone numbers may be used too; as `yes` if undefined. */
  readonly texts?: (row: Cells) => boolean
}

const email = (i: number) => `p${i}@example.com`
const phone = (i: number) => `+1-202-555-01${10 + i}`
const id = (i: number) => `C-${100 + i}`
const name = (i: number) => ['Jo', 'Ann', 'Max', 'Eva'][i % 4] ?? ''
const blank = () => ''
const one = <T>(i: number, ...values: readonly T[]) => values[i % values.length] as T

export const localized: readonly ExportOfPeople[] = [
  {
    name: 'a German shop',
    delimiter: ';',
    columns: {
      Kundennummer: id,
      Vorname: name,
      'E-Mail-Adresse': email,
      Telefonnummer: phone,
      Land: () => 'US',
      Werbeeinwilligung: (i) => one(i, 'Ja', 'Nein', 'Ja'),
    },
    emails: ['E-Mail-Adresse'],
    phones: ['Telefonnummer'],
    yes: (row) => row['Werbeeinwilligung'] === 'Ja',
  },
  {
    name: 'a German newsletter',
    delimiter: ';',
    columns: { Adresse: email, Name: name, Status: (i) => one(i, 'angemeldet', 'abgemeldet', 'angemeldet') },
    emails: ['Adresse'],
    yes: (row) => row['Status'] === 'angemeldet',
  },
  {
    name: 'a French shop',
    delimiter: ';',
    columns: {
      'N° client': id,
      Prénom: name,
      'Adresse e-mail': email,
      Téléphone: phone,
      'Consentement marketing': (i) => one(i, 'oui', 'non'),
    },
    emails: ['Adresse e-mail'],
    phones: ['Téléphone'],
    yes: (row) => row['Consentement marketing'] === 'oui',
  },
  {
    name: 'a Spanish CRM',
    columns: {
      'Id cliente': id,
      Nombre: name,
      'Correo electrónico': email,
      Móvil: phone,
      'Acepta publicidad': (i) => one(i, 'Sí', 'No', 'Sí'),
    },
    emails: ['Correo electrónico'],
    phones: ['Móvil'],
    yes: (row) => row['Acepta publicidad'] === 'Sí',
  },
  {
    name: 'an Italian shop',
    columns: { Codice: id, Nome: name, Posta: email, Cellulare: phone, 'Consenso marketing': (i) => one(i, 'si', 'no', 'no') },
    emails: ['Posta'],
    phones: ['Cellulare'],
    yes: (row) => row['Consenso marketing'] === 'si',
  },
  {
    name: 'a Dutch newsletter',
    columns: { Klantnummer: id, Naam: name, 'E-mailadres': email, Nieuwsbrief: (i) => one(i, 'ja', 'nee') },
    emails: ['E-mailadres'],
    yes: (row) => row['Nieuwsbrief'] === 'ja',
  },
  {
    name: 'a Swedish shop whose phone column is known and whose email column is not',
    columns: { Kundnr: id, Förnamn: name, 'E-post': email, Mobil: phone, Nyhetsbrev: (i) => one(i, 'Ja', 'Nej') },
    emails: ['E-post'],
    phones: ['Mobil'],
    yes: (row) => row['Nyhetsbrev'] === 'Ja',
  },
  {
    name: 'a Polish shop',
    columns: {
      'Nr klienta': id,
      Imię: name,
      'Adres e-mail': email,
      'Numer telefonu': phone,
      'Zgoda marketingowa': (i) => one(i, 'tak', 'nie', 'tak'),
    },
    emails: ['Adres e-mail'],
    phones: ['Numer telefonu'],
    yes: (row) => row['Zgoda marketingowa'] === 'tak',
  },
  {
    name: 'a Japanese shop',
    columns: { 会員番号: id, 氏名: name, メールアドレス: email, 携帯電話: phone, メルマガ: (i) => one(i, '購読中', '配信停止') },
    emails: ['メールアドレス'],
    phones: ['携帯電話'],
    yes: (row) => row['メルマガ'] === '購読中',
  },
  {
    name: 'a Russian newsletter',
    columns: { Почта: email, Имя: name, Состояние: (i) => one(i, 'подписан', 'отписан', 'подписан', '') },
    emails: ['Почта'],
    yes: (row) => row['Состояние'] === 'подписан',
  },
]

export const odd: readonly ExportOfPeople[] = [
  {
    name: 'a flag that forbids',
    columns: { id, email, email_disabled: (i) => one(i, 'false', 'true', 'false') },
    emails: ['email'],
    yes: (row) => row['email_disabled'] === 'false',
  },
  {
    name: 'states under a name that says nothing',
    columns: { 'Email Address': email, Name: name, Segment: (i) => one(i, 'subscribed', 'unsubscribed', 'cleaned', 'bounced') },
    emails: ['Email Address'],
    yes: (row) => row['Segment'] === 'subscribed',
  },
  {
    name: 'dates of opt-in and of opt-out',
    columns: {
      email,
      OPTIN_TIME: (i) => (i === 3 ? '' : `2024-01-${10 + i} 10:00:00`),
      UNSUB_TIME: (i) => (i % 3 === 1 ? '2025-02-03 11:00:00' : ''),
      UNSUB_REASON: (i) => (i % 3 === 1 ? 'too many' : ''),
    },
    emails: ['email'],
    yes: (row) => row['OPTIN_TIME'] !== '' && row['UNSUB_TIME'] === '',
  },
  {
    name: 'blacklists for each channel',
    columns: {
      CONTACT_ID: id,
      EMAIL: email,
      SMS: phone,
      EMAIL_BLACKLISTED: (i) => one(i, '0', '1', '0'),
      SMS_BLACKLISTED: (i) => one(i, '0', '0', '1'),
    },
    emails: ['EMAIL'],
    phones: ['SMS'],
    yes: (row) => row['EMAIL_BLACKLISTED'] === '0',
    texts: (row) => row['SMS_BLACKLISTED'] === '0',
  },
  {
    name: 'consents of which all are needed',
    columns: { id, email, gdpr: (i) => one(i, 'TRUE', 'TRUE', 'FALSE'), do_not_contact: (i) => one(i, 'FALSE', 'TRUE', 'FALSE', 'FALSE') },
    emails: ['email'],
    yes: (row) => row['gdpr'] === 'TRUE' && row['do_not_contact'] === 'FALSE',
  },
  {
    name: 'answers to a form',
    columns: { Timestamp: (i) => `1/${i + 1}/2026 10:00:00`, "What's your email?": email, 'Can we email you?': (i) => one(i, 'Yes', 'No') },
    emails: ["What's your email?"],
    yes: (row) => row['Can we email you?'] === 'Yes',
  },
  {
    name: 'reasons of suppression',
    columns: {
      Email: email,
      'Profile ID': id,
      Suppressed: blank,
      'Suppression reason': (i) => one(i, '', 'HARD_BOUNCE', '', 'UNSUBSCRIBE', 'SPAM_COMPLAINT'),
    },
    emails: ['Email'],
    yes: (row) => row['Suppression reason'] === '',
  },
  {
    name: 'words for opted in and out',
    columns: { 'Customer ID': id, Mail: email, 'Email Opt-in Status': (i) => one(i, 'Opted In', 'Opted Out', 'Not confirmed') },
    emails: ['Mail'],
    yes: (row) => row['Email Opt-in Status'] === 'Opted In',
  },
  {
    name: 'the day of the revocation',
    delimiter: '\t',
    columns: { Nr: id, 'E-Mail': email, 'Widerruf am': (i) => (i % 4 === 2 ? '03.04.2025' : '') },
    emails: ['E-Mail'],
    yes: (row) => row['Widerruf am'] === '',
  },
  {
    name: 'one person twice, opted out once',
    columns: { id, email: (i) => email(i % 9), phone: (i) => phone(i), status: (i) => (i === 10 ? 'unsubscribed' : 'subscribed') },
    emails: ['email'],
    phones: ['phone'],
    yes: (row) => row['status'] === 'subscribed',
  },
]

const shopify = {
  'First Name': name,
  'Last Name': () => 'Doe',
  Email: email,
  'Accepts Email Marketing': (i: number) => one(i, 'yes', 'no'),
}

export const ordinary: readonly ExportOfPeople[] = [
  {
    name: 'Shopify customers',
    columns: {
      'Customer ID': (i) => `'${7000 + i}`,
      ...shopify,
      'Default Address Phone': phone,
      Phone: blank,
      'Accepts SMS Marketing': (i) => one(i, 'yes', 'yes', 'no'),
    },
    emails: ['Email'],
    phones: ['Default Address Phone'],
    yes: (row) => row['Accepts Email Marketing'] === 'yes',
    texts: (row) => row['Accepts SMS Marketing'] === 'yes',
  },
  {
    name: 'Shopify customers without id',
    columns: { ...shopify, Tags: () => 'vip' },
    emails: ['Email'],
    yes: (row) => row['Accepts Email Marketing'] === 'yes',
  },
  {
    name: 'a Mailchimp audience',
    columns: {
      'Email Address': email,
      'First Name': name,
      MEMBER_RATING: () => '2',
      OPTIN_TIME: blank,
      UNSUB_TIME: (i) => (i === 5 ? '2025-01-01 10:00:00' : ''),
      UNSUB_REASON: blank,
      LEID: id,
      EUID: id,
    },
    emails: ['Email Address'],
    yes: (row) => row['UNSUB_TIME'] === '',
  },
  {
    name: 'HubSpot contacts',
    columns: {
      'Record ID': id,
      'First Name': name,
      'Last Name': () => 'Doe',
      Email: email,
      'Mobile Phone Number': phone,
      'Lifecycle Stage': () => 'Lead',
      'Unsubscribed from all email': (i) => one(i, '', 'Yes', 'No'),
      'Marketing contact status': (i) => one(i, 'Marketing contact', 'Marketing contact', 'Marketing contact', 'Non-marketing contact'),
    },
    emails: ['Email'],
    phones: ['Mobile Phone Number'],
    yes: (row) => row['Unsubscribed from all email'] !== 'Yes' && row['Marketing contact status'] === 'Marketing contact',
  },
  {
    name: 'another CRM with a Record Id',
    columns: {
      'Record Id': id,
      'Contact Owner': () => 'Rep',
      'First Name': name,
      'Last Name': () => 'Doe',
      Email: email,
      Mobile: phone,
      'Email Opt Out': (i) => one(i, 'false', 'true'),
      'Created Time': () => '2025-01-01 10:00:00',
    },
    emails: ['Email'],
    phones: ['Mobile'],
    yes: (row) => row['Email Opt Out'] === 'false',
  },
  {
    name: 'contacts of an address book',
    columns: {
      'First Name': name,
      Labels: () => '* myContacts',
      'E-mail 1 - Label': () => 'Home',
      'E-mail 1 - Value': email,
      'E-mail 2 - Value': (i) => (i % 2 ? `second${i}@example.org` : ''),
      'Phone 1 - Value': phone,
    },
    emails: ['E-mail 1 - Value', 'E-mail 2 - Value'],
    phones: ['Phone 1 - Value'],
  },
  {
    name: 'a list for upload with numbered columns',
    columns: { email_1: email, email_2: (i) => (i % 3 ? '' : `b${i}@example.org`), phone_1: phone, phone_2: blank },
    emails: ['email_1', 'email_2'],
    phones: ['phone_1'],
  },
  {
    name: 'shop customers with phones for billing and shipping',
    columns: {
      customer_id: id,
      'Billing Email': email,
      'Billing Phone': phone,
      'Shipping Phone': (i) => (i % 2 ? `+1-202-555-01${40 + i}` : ''),
    },
    emails: ['Billing Email'],
    phones: ['Billing Phone', 'Shipping Phone'],
  },
  {
    name: 'people of whom some have only a phone number',
    columns: { Name: name, Email: (i) => (i % 3 === 0 ? '' : email(i)), 'Primary Phone': phone },
    emails: ['Email'],
    phones: ['Primary Phone'],
  },
  {
    name: 'phone numbers with extensions, and a column of colleagues',
    columns: {
      contact_id: id,
      email,
      'Work phone': (i) => `202-555-01${10 + i} x752`,
      country: () => 'US',
      'Contact owner email': () => 'rep@example.net',
    },
    emails: ['email'],
    phones: ['Work phone'],
  },
]

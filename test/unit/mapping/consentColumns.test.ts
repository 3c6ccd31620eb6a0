/** Consent columns of shops, newsletters and CRMs, recognized by their names and values. */
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { describeMissingColumn } from '../../../src/mapping/boundColumns.ts'
import { classifyColumnName } from '../../../src/mapping/consent/columnName.ts'
import { ColumnValues } from '../../../src/mapping/consent/columnValues.ts'
import { consentLine } from '../../../src/mapping/consent/consentText.ts'
import { cellTest } from '../../../src/mapping/consent/consentTest.ts'
import { proposeTest, unknownYes } from '../../../src/mapping/consent/proposeTest.ts'
import { consentMeaning, isSubscriptionState } from '../../../src/mapping/consent/words.ts'
import { UnmappedColumns } from '../../../src/mapping/members/unmappedColumns.ts'
import { expandVariables } from '../../../src/pipeline/variables.ts'

const today = new Date('2026-11-27T12:00:00Z')

describe('the name of a column', () => {
  test.for([
    'Accepts Email Marketing',
    'Accepts Marketing',
    'accepts_marketing',
    'OPTIN_TIME',
    'Email Marketing Consent',
    'Newsletter',
    'newsletter_ok',
    'is_subscribed',
    'Subscribed',
    'Subscription Status',
    'Email Status',
    'gdpr',
    'GDPR consent',
    'DSGVO-Einwilligung',
    'marketing_ok',
    'Email OK',
    'emailOptIn',
    'email_opt_in',
    'Opted In',
    'Opt-In',
    'Double Opt-In',
    'Marketing Permission',
    'Permission to email',
    'can_email',
    'allow_email',
    'Werbeeinwilligung',
    'Einwilligung Werbung',
    'Consentement',
    'Consentement marketing',
    'Infolettre',
    'Consentimiento',
    'Boletín',
    'Suscrito',
    'Consenso marketing',
    'Toestemming',
    'Nieuwsbrief',
    'Zgoda marketingowa',
    'Samtycke',
    'Nyhetsbrev',
    'Samtykke',
    'Markkinointilupa',
    'Bülten',
    'Согласие на рассылку',
    'Подписка',
    'メルマガ',
    '订阅',
    'Mailing list',
    'consent.email',
    'emailMarketingConsent',
    'Consent date',
    'News\u200bletter',
    '\u200eNews\u00adletter\ufeff',
  ])('%s: a yes lets the person be reached', (column) => {
    expect(classifyColumnName(column)).toEqual({ polarity: 'in', channel: 'any', certain: true })
  })

  test.for([
    'UNSUB_TIME',
    'Unsubscribed',
    'unsubscribed_at',
    'Unsubscribed from all email',
    'HasOptedOutOfEmail',
    'Email Opt Out',
    'emailOptOut',
    'EMAIL_BLACKLISTED',
    'blacklisted',
    'Blocklisted',
    'email_disabled',
    'Email Disabled',
    'do_not_contact',
    'DoNotContact',
    'Do Not Email',
    'Do Not Market',
    'Email Suppressions',
    'suppressed',
    'CLEAN_TIME',
    'hard_bounced',
    'Bounced',
    'Email hard bounce reason',
    'Invalid email address',
    'no_email',
    'No marketing',
    'Opted out of email: Marketing Information',
    'Complained',
    'Abgemeldet am',
    'Werbesperre',
    'Widerruf',
    'Désabonné',
    'Désinscription',
    'Lista negra',
    'Disiscritto',
    'Uitgeschreven',
    'Afgemeld',
    'Отписан',
    'consent withdrawn',
    'marketing_opt_out',
    'Newsletter unsubscribed',
    'Exclude from marketing',
  ])('%s: a yes forbids to reach the person', (column) => {
    expect(classifyColumnName(column)).toEqual({ polarity: 'out', channel: 'any', certain: true })
  })

  test.for([
    ['Accepts SMS Marketing', 'in', 'phone'],
    ['SMS Marketing Consent', 'in', 'phone'],
    ['SMS_BLACKLISTED', 'out', 'phone'],
    ['DoNotCall', 'out', 'phone'],
    ['WhatsApp opt-in', 'in', 'phone'],
    ['HasOptedOutOfFax', 'out', 'other'],
    ['DoNotPostalMail', 'out', 'other'],
    ['push_opt_in', 'in', 'other'],
    ['Opt-in / Opt-out', 'unclear', 'any'],
  ] as const)('%s: %s, for %s', ([column, polarity, channel]) => {
    expect(classifyColumnName(column)).toEqual({ polarity, channel, certain: true })
  })

  test.for([
    'Email',
    'First Name',
    'Phone',
    'MailingCity',
    'Mailing Street',
    'Country',
    'Tags',
    'Total Spent',
    'Bounce rate',
    'Unsubscribe link',
    'unsubscribe_url',
    'OPTIN_IP',
    'UNSUB_CAMPAIGN_TITLE',
    'MEMBER_RATING',
    'Lifecycle Stage',
    'Contact owner',
    'Subscription Plan',
    'Consent source',
    'Last Active',
    'Notes',
    'status',
    'utm_campaign',
    'id',
  ])('%s is not certain to be a consent column', (column) => {
    expect(classifyColumnName(column)?.certain ?? false).toBe(false)
  })
})

/** Spellings of one word: other spaces, invisible characters, full-width letters, separate accents, a padded column. */
const spellingsOf = (word: string) => [
  `\u00a0${word}`,
  `${word}\t`,
  `${word}${' '.repeat(60)}`,
  `\ufeff${word.slice(0, 1)}\u200b${word.slice(1)}`,
  `${word.slice(0, 1)}\u00ad${word.slice(1)}`,
  word.toUpperCase().replace(/[!-~]/g, (letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0)),
  word.normalize('NFD'),
  word.replaceAll(' ', ' \u00a0'),
]

test.for(['unsubscribed', 'hard bounce', 'désabonné'].flatMap(spellingsOf))('the cell %j is a consent state in any column', (cell) =>
  expect(isSubscriptionState(cell)).toBe(true),
)

test.for(
  ['no', 'n', 'nein', '0', 'false', 'unsubscribed', 'do not contact'].flatMap((word) =>
    spellingsOf(word).map((cell) => [cell, word] as const),
  ),
)('the cell %j means %s', ([cell, word]) => {
  expect(consentMeaning(cell)).toBe(consentMeaning(word))
  expect(['no', 'out']).toContain(consentMeaning(word))
  expect(cellTest({ column: 'c', notValues: [word] })(cell)).toBe(false)
  expect(cellTest({ column: 'c', notValues: [cell] })(word)).toBe(false)
  expect(cellTest(proposalFor('Newsletter', [cell, 'yes']).test)(cell)).toBe(false)
})

test.for(['NULL', '(null)', '\\N', '0000-00-00', '0000-00-00 00:00:00', '0000-00-00T00:00:00Z'])(
  'the cell %j of a database is empty for not_values',
  (cell) => {
    expect(cellTest({ column: 'c', notValues: [''] })(cell)).toBe(false)
    expect(cellTest({ column: 'c', notValues: ['no'] })(cell)).toBe(true)
  },
)

test.for(['', ' ', '\u00a0', '\u200b\u200b', '\u00ad', '\u3164', '\u2800'])('the invisible cell %j is empty', (cell) =>
  expect(cellTest({ column: 'c', notValues: [''] })(cell)).toBe(false),
)

test.for([
  ['No, please do not contact me by email or by telephone', 'out'],
  ['E-Mail', 'in'],
  ['e_mail', 'in'],
  ['Opt-in', 'in'],
  ['United Kingdom', undefined],
  ['unique', undefined],
  ['Unit A', undefined],
  ['Un-subscribed', 'out'],
  ['unverified', 'out'],
  ['unwilling', 'out'],
  ['uninterested', 'out'],
  ['unidentified', 'out'],
] as const)('in a column of consent, %s means %s', ([cell, meaning]) => expect(consentMeaning(cell)).toBe(meaning))

test.for([
  'Unsubscribed',
  ' hard_bounce ',
  'CLEANED',
  'opted-out',
  'Subscribed',
  'abgemeldet',
  'Désabonné',
  'отписан',
  'NEVER_SUBSCRIBED',
  'HardBounced',
  'Do Not Allow',
])('the cell %s is a consent state in any column', (cell) => expect(isSubscriptionState(cell)).toBe(true))
test.for(['active', 'yes', 'NY', 'customer', 'pending', '', 'subscription', 'Baja'])('the cell %s is not', (cell) =>
  expect(isSubscriptionState(cell)).toBe(false),
)

/** Column, its cells, the setting for a pipeline, and the cells of the rows that it sends. */
test.for([
  ['Accepts Email Marketing', ['yes', 'no', 'yes', ''], '{ column: "Accepts Email Marketing", values: ["yes"] }', true],
  ['Newsletter', ['ja', 'nein', 'Ja'], '{ column: "Newsletter", values: ["Ja"] }', true],
  ['email_disabled', ['true', 'false', ''], '{ column: "email_disabled", values: ["false", ""] }', true],
  ['Unsubscribed', ['1', '0'], '{ column: "Unsubscribed", values: ["0"] }', true],
  ['status', ['subscribed', 'unsubscribed', 'cleaned'], '{ column: "status", values: ["subscribed"] }', true],
  ['status', ['unsubscribed', 'unsubscribed'], '{ column: "status", values: ["subscribed"] }', false],
  ['list', ['VIP', 'unsubscribed', 'Standard'], '{ column: "list", values: ["VIP", "Standard"] }', false],
  ['list', ['VIP', 'unsubscribed', 'denied', 'inactive'], '{ column: "list", values: ["VIP"] }', false],
  ['list', ['unsubscribed', 'denied'], '{ column: "list", values: ["subscribed"] }', false],
  ['UNSUB_TIME', ['', '2024-01-02 10:00:00', ''], '{ column: "UNSUB_TIME", values: [""] }', true],
  ['UNSUB_TIME', ['2024-01-02 10:00:00', '2024-02-02'], '{ column: "UNSUB_TIME", values: [""] }', true],
  ['OPTIN_TIME', ['2024-01-02 10:00:00', '', 'no', '2025-04-03'], '{ column: "OPTIN_TIME", after: "1970-01-02" }', true],
  ['OPTIN_TIME', ['2024-01-02 10:00:00', '', '03.04.2025'], '{ column: "OPTIN_TIME", not_values: [""] }', false],
  ['OPTIN_TIME', ['2024-01-02', '2024-01-03', '2024-01-04', 'yes', 'no'], '{ column: "OPTIN_TIME", not_values: ["", "no"] }', false],
  ['Email Suppressions', ['[]', 'HARD_BOUNCE', ''], '{ column: "Email Suppressions", values: ["[]", ""] }', true],
  [
    'Email Marketing Consent',
    ['SUBSCRIBED', 'NEVER_SUBSCRIBED', 'UNSUBSCRIBED'],
    '{ column: "Email Marketing Consent", values: ["SUBSCRIBED"] }',
    true,
  ],
  ['Newsletter', ['weekly', 'no', 'monthly'], '{ column: "Newsletter", values: ["weekly", "monthly"] }', false],
  ['Newsletter', ['no', 'no'], '{ column: "Newsletter", values: ["yes"] }', false],
  ['Consent', ['Yes', 'Essential only'], '{ column: "Consent", values: ["Yes"] }', true],
  ['Newsletter', ['O', 'N', ''], '{ column: "Newsletter", values: ["O"] }', true],
  ['Newsletter', ['o', 'non'], '{ column: "Newsletter", values: ["o"] }', true],
  ['Désabonné', ['O', 'N'], '{ column: "Désabonné", values: ["N"] }', true],
  ['Bülten', ['E', 'H'], '{ column: "Bülten", values: ["E"] }', true],
  ['Email Status', ['active', 'bounced', 'unconfirmed'], '{ column: "Email Status", values: ["active"] }', true],
  [
    'marketing_optin',
    ['EXPLICITLY_OPTED_IN', 'EXPLICITLY_OPTED_OUT', 'NOT_SPECIFIED'],
    '{ column: "marketing_optin", values: ["EXPLICITLY_OPTED_IN"] }',
    false,
  ],
  ['Status', ['Active', 'Held', 'Unsubscribed', 'Bounce (hard)', 'User unsubscribed'], '{ column: "Status", values: ["Active"] }', false],
  [
    'Email permission status',
    ['Express', 'Unsubscribed', 'Temp hold'],
    '{ column: "Email permission status", values: ["Express"] }',
    false,
  ],
  ['Bulk Email', ['Allow', 'Do Not Allow'], '{ column: "Bulk Email", values: ["Allow"] }', false],
  ['Send Marketing Materials', ['Send', 'Do Not Send'], '{ column: "Send Marketing Materials", values: ["Send"] }', true],
  ['unsubscribed by', ['', 'jane@example.com', ''], '{ column: "unsubscribed by", values: [""] }', false],
] as const)('%s of %j is read as %s', ([column, cells, line, certain]) => {
  const proposed = proposalFor(column, cells)
  expect([consentLine([proposed.test]), proposed.certain]).toEqual([`consent: ${line}`, certain])
})

test('no proposed test passes a value that means no', () => {
  const no = ['no', 'false', '0', 'unsubscribed', 'cleaned', 'opted out', 'nein', 'inactive', 'never_subscribed', 'bounced', 'n', 'denied']
  const yes = ['yes', 'true', '1', 'subscribed', 'opted in', 'ja', 'active', 'y']
  for (const refused of no)
    for (const agreed of yes) {
      const { test: made } = proposalFor('Newsletter', [refused, agreed, '', 'something else'])
      const passes = cellTest(made)
      expect([refused, passes(refused), passes(''), passes(agreed)]).toEqual([refused, false, false, true])
    }
})

/** In an opt-out column, these words may describe the opt-out: `enabled`, or `inscrit` of a Robinson list. */
const yesWords = [
  'enabled',
  'active',
  'confirmed',
  'accepted',
  'agreed',
  'given',
  'valid',
  'registered',
  'email',
  'aktiv',
  'bestätigt',
  'actif',
]
const subscriberWords = ['granted', 'inscrit', 'inscrito', 'iscritto', 'ingeschreven', 'angemeldet', 'zapisany', 'Subscribed', 'opted in']
test.for([
  ...['do_not_email', 'Email Opt-Out Status', 'Blacklisted', 'Unsubscribe', 'Liste Robinson', 'withdrawn'].flatMap((column) =>
    [...yesWords, ...subscriberWords].map((word) => [column, word] as const),
  ),
  ...yesWords.map((word) => ['Opt-in / Opt-out', word] as const),
])('the proposal for a column %s is not certain and does not contain %s', ([column, word]) => {
  for (const other of ['', 'disabled', 'inactive', 'no', 'something else']) {
    const { test: made, certain } = proposalFor(column, [word, other, word])
    expect([other, certain, cellTest(made)(word)]).toEqual([other, false, false])
  }
})

test.for(yesWords)('%s permits to reach the person in a column of consent', (word) => {
  expect(proposalFor('Newsletter', [word, 'no'])).toMatchObject({ test: { values: [word] }, certain: true })
})

test.for([
  ['withdrawn', ['', '2025-01-02', ''], '{ column: "withdrawn", values: [""] }'],
  ['gesperrt', ['', '02.01.2025', ''], '{ column: "gesperrt", values: [""] }'],
  ['objected', ['0', '1', '0'], '{ column: "objected", values: ["0"] }'],
  ['dnd', ['false', 'true', 'false'], '{ column: "dnd", values: ["false"] }'],
  ['ccpa', ['0', '1', ''], '{ column: "ccpa", values: ["0", ""] }'],
  ['email_opt', ['in', 'out', 'in'], '{ column: "email_opt", values: ["in"] }'],
  ['Pref_Email', ['1', '0', '1'], '{ column: "Pref_Email", values: ["1"] }'],
  ['Email preferences', ['yes', 'no', 'yes'], '{ column: "Email preferences", values: ["yes"] }'],
  ['LOPD', ['S', 'N', 'S'], '{ column: "LOPD", values: ["S"] }'],
] as const)('an unmapped column %s with %j is about consent: %s', ([column, cells, line]) => {
  expect(consentLineFor(column, cells)).toBe(`consent: ${line}`)
})

/** Questions that end like a detail, negated names, ends of a consent, other languages. */
test.for([
  ['Unsubscribed from campaigns', ['Yes', 'No'], ['No']],
  ['unsubscribedChannelIds', ['[123]', ''], ['']],
  ['No longer contact by email', ['Yes', 'No'], ['No']],
  ['No longer contact (by any channel)', ['1', '0'], ['0']],
  ['Email Suspended', ['true', 'false'], ['false']],
  ['Email address quarantined', ['true', 'false'], ['false']],
  ['isBounceback', ['true', 'false'], ['false']],
  ['Email frequency', ['Weekly', 'Never'], ['Weekly']],
  ['ShouldForget', ['true', 'false'], ['false']],
  ['gdpr_erased', ['1', '0'], [unknownYes]],
  ['Art. 21 DSGVO', ['ja', 'nein'], [unknownYes]],
  ['Stop email', ['1', '0'], ['0']],
  ['Ne pas solliciter', ['oui', 'non'], ['non']],
  ['Pas de mail', ['oui', 'non'], ['non']],
  ['Non inviare email', ['si', 'no'], ['no']],
  ['No enviar publicidad', ['si', 'no'], ['no']],
  ['Geen mail', ['ja', 'nee'], ['nee']],
  ['Nie wysyłać', ['tak', 'nie'], ['nie']],
  ['Tilladelse', ['Ja', 'Nej'], ['Ja']],
  ['Odběr novinek', ['Ano', 'Ne'], ['Ano']],
  ['DM可否', ['可', '不可'], ['可']],
  ['案内メール', ['受け取る', '受け取らない'], ['受け取る']],
  ['营销许可', ['是', '否'], ['是']],
  ['이메일수신여부', ['Y', 'N'], ['Y']],
  ['ต้องการรับข่าวสาร', ['ใช่', 'ไม่'], ['ใช่']],
  ['Nhận email', ['Có', 'Không'], ['Có']],
  ['Receives email campaigns', ['yes', 'no'], ['yes']],
  ['Consent to contact by email or phone number', ['Yes', 'No'], ['Yes']],
  ['Consent to share data with provider', ['Yes', 'No'], ['Yes']],
  ['unsubscribe_state', ['true', 'false'], ['false']],
  ['Hard Bounces', ['0', '3'], ['0']],
  ['Kein Newsletter', ['', 'X'], ['']],
  ['Kein Mailing', ['', 'X'], ['']],
  ['Geen nieuwsbrief', ['ja', 'nee'], ['nee']],
  ['Pas de publicité', ['oui', 'non'], ['non']],
  ['Not subscribed', ['yes', 'no'], ['no']],
  ['Newsletter declined', ['yes', 'no'], ['no']],
  ['Newsletter blocked', ['1', '0'], ['0']],
  ['Newsletter cancelled at', ['', '2024-01-02'], ['']],
  ['Marketing declined', ['1', '0'], ['0']],
  ['Prospection refusée le', ['', '2024-01-02'], ['']],
  ['Direct marketing not wanted', ['1', '0'], ['0']],
  ['Opted out of campaigns', ['1', '0'], ['0']],
  ['Rezygnacja z newslettera', ['', '2024-01-02'], ['']],
  ['Sprzeciw', ['tak', 'nie'], ['nie']],
  ['Privola', ['da', 'ne'], ['da']],
  ['Nesouhlas', ['ano', 'ne'], ['ne']],
  ['Nesúhlas s marketingom', ['áno', 'nie'], ['nie']],
  ['Несогласие', ['да', 'нет'], ['нет']],
  ['Odhlášení z newsletteru', ['ano', 'ne'], ['ne']],
  ['Sähköpostikielto', ['kyllä', 'ei'], ['ei']],
  ['Ikke kontakt', ['ja', 'nei'], ['nei']],
  ['Odhlásit', ['ano', 'ne'], ['ne']],
  ['Newsletter (confirmed or not)', ['yes', 'no'], [unknownYes]],
  ['Subscribed or cancelled', ['2024-01-02', ''], [unknownYes]],
  ['Non-profit newsletter', ['yes', 'no'], [unknownYes]],
  ['Nicht kontaktieren', ['ja', 'nein'], ['nein']],
  ['Ne pas contacter', ['oui', 'non'], ['non']],
  ['Odhlášen', ['ano', 'ne'], ['ne']],
  ['Leiratkozott', ['igen', 'nem'], ['nem']],
  ['Markkinointikielto', ['kyllä', 'ei'], ['ei']],
  ['Reklambeskyttet', ['ja', 'nej'], ['nej']],
  ['Súhlas', ['áno', 'nie'], ['áno']],
  ['Згода', ['так', 'ні'], ['так']],
  ['موافقة', ['نعم', 'لا'], ['نعم']],
] as const)('an unmapped column %s with %j is about consent, and only %j passes', ([column, cells, values]) => {
  expect(consentLineFor(column, cells)).toContain(consentLine([{ column, values }]))
})

test.for([
  ['Newsletter language', ['no', 'da', 'en']],
  ['Consent country', ['NO', 'DE', 'SI']],
  ['Consent form', ['A1', 'B2']],
  ['Number of campaigns', ['1', '0']],
  ['withdrawn', ['12.50', '0.00', '3.10']],
  ['Optional', ['yes', 'no', 'yes']],
  ['Preferred size', ['M', 'L', 'S']],
  ['blocked_at_branch', ['Berlin', 'Bonn', 'Rome']],
  ['Subscription cancelled at', ['', '2024-01-02']],
  ['Subscription ended at', ['', '2024-01-02']],
  ['Subscription expired', ['', '2024-01-02']],
  ['Promotion expired at', ['', '2024-01-02']],
  ['Promo stopped', ['', '2024-01-02']],
  ['Abonnement gekündigt am', ['', '2024-01-02']],
  ['Abonnement résilié le', ['', '2024-01-02']],
  ['Declined subscription payments', ['', '2024-01-02']],
  ['Declined subscription payments', ['0', '3', '1']],
  ['Cours inscription refusée', ['', '2024-01-02']],
  ['Marketing qualified lead rejected', ['', '2024-01-02']],
  ['User permission denied', ['', '2024-01-02']],
  ['Newsletter campaigns', ['0', '3', '12']],
  ['Opt-in campaigns', ['0', '3', '1']],
  ['Marketing campaigns', ['0', '3', '1']],
  ['Mailing campaigns', ['0', '3', '1']],
  ['Soft bounces', ['0', '3', '1']],
  ['Bounces', ['0', '3', '1']],
  ['Privolany', ['Poprad', 'Nitra']],
  ['Odhlasovanie', ['áno', 'nie']],
  ['Frameldingsdato', ['', '2024-01-02']],
  ['Rezygnacja z konta', ['', '2024-01-02']],
  ['Data rezygnacji z umowy', ['', '2024-01-02']],
  ['Powód rezygnacji', ['', 'za drogo']],
  ['Sprzeciw wobec decyzji', ['', '2024-01-02']],
  ['Rezygnacja', ['', 'za drogo']],
  ['Subscription not renewed', ['', '2024-01-02']],
  ['Odhlášení z kurzu', ['', '2024-01-02']],
  ['Luottokielto', ['', '2024-01-02']],
  ['Nicht kontaktiert seit', ['', '2024-01-02']],
  ['Non-contact hours', ['0', '3', '1']],
  ['Ikke kontaktet', ['ja', 'nei']],
  ['Çalışma izni', ['Evet', 'Hayır']],
  ['disable_auto_group_change', ['0', '1', '0']],
  ['UNSUB_CAMPAIGN_ID', ['4455', '']],
  ['emailListIds', ['[123]', '']],
  ['(Do Not Modify) Contact', ['C-1', 'C-2']],
  ['Bounceback coupon', ['Yes', 'No']],
  ['bounceback_offer_redeemed', ['1', '0']],
  ['经营许可证', ['是', '否']],
  ['Tanggal persetujuan kredit', ['', '2024-01-02']],
] as const)('an unmapped column %s with %j is not', ([column, cells]) => {
  expect(consentLineFor(column, cells)).toBeUndefined()
})

test.for([
  ['contact', ['yes', 'no', 'yes']],
  ['email_flag', ['true', 'false', '']],
  ['Kontakt erlaubt', ['ja', 'nein']],
  ['share_data', ['Y', 'N']],
  ['receive_offers', ['yes', 'no']],
  ['Personalised ads', ['no', 'no']],
  ['reachable', ['yes', 'no']],
  ['Subscription cancelled', ['yes', 'no']],
  ['Promotion stopped', ['yes', 'no']],
  ['contact_by_email', ['TRUE', 'FALSE']],
] as const)('an unmapped column %s with %j may be about consent, and the user decides', ([column, cells]) => {
  expect(consentLineFor(column, cells)).toContain(`consent: { column: "${column}", values: ["`)
  expect(consentLineFor(column, cells)).toContain(`; or, for columns that are not about consent: ignore: ["${column}"]`)
  expect(proposalFor(column, cells).certain).toBe(false)
})

test.for([
  ['contact', ['Jane Doe', 'John Doe']],
  ['contact', ['jane@example.com', 'no']],
  ['contact', ['3', '0', '1']],
  ['offers', ['10 %', '20 %']],
  ['Primary contact', ['yes', 'no']],
  ['verified_email', ['true', 'false']],
  ['has_email', ['true', 'false']],
  ['vip', ['yes', 'no']],
] as const)('an unmapped column %s with %j is not about consent', ([column, cells]) => {
  expect(consentLineFor(column, cells)).toBeUndefined()
})

/**
 * Column, its cells, and the cells that mean yes. The last cell means no. No list has all notations of no, so the hint must leave it out.
 */
test.for([
  ['Newsletter', ['Ja, graag', 'Nee, bedankt'], ['Ja, graag']],
  ['Newsletter', ['I agree', 'I do not agree'], ['I agree']],
  ['Newsletter', ['I want it', "I don't want it"], ['I want it']],
  ['Zgoda marketingowa', ['Zgadzam się', 'Nie zgadzam się'], ['Zgadzam się']],
  ['Souhlas', ['Souhlasím', 'Nesouhlasím'], ['Souhlasím']],
  ['Samtykke', ['Ja takk', 'Nei takk'], ['Ja takk']],
  ['Hírlevél', ['Kérem', 'Nem kérem'], ['Kérem']],
  ['Bülten', ['Evet, istiyorum', 'İstemiyorum'], ['Evet, istiyorum']],
  ['Согласие', ['Да, присылайте', 'Больше не присылайте'], ['Да, присылайте']],
  ['Einwilligung', ['liegt vor', 'liegt nicht vor'], ['liegt vor']],
  ['メルマガ', ['読む', '読みたくない'], ['読む']],
  ['订阅', ['需要', '不需要'], ['需要']],
  ['수신 동의', ['받음', '안함'], ['받음']],
  ['Consentement', ['accord', 'opposé'], ['accord']],
  ['Consent', ['✅', '❌'], ['✅']],
  ['Consent', ['✓', 'x'], ['✓']],
  ['Consent', ['I', 'O'], [unknownYes]],
  ['Consent', ['K', 'E'], [unknownYes]],
  ['Consent', ['I', 'N', 'O'], [unknownYes]],
  ['Consent', ['K', 'H', 'E'], [unknownYes]],
  ['Consent', ['E'], [unknownYes]],
  ['Consent', ['[x]', '[ ]'], [unknownYes]],
  ['Consent', ['po', 'jo'], [unknownYes]],
  ['Consent', ['○', '×'], [unknownYes]],
] as const)('the proposal for a column %s with %j passes only %j', ([column, cells, passing]) => {
  const { test: made, certain } = proposalFor(column, cells)
  expect([made, certain]).toEqual([{ column, values: passing }, false])
})

/** Columns where a list of values could send people who said no. */
test.for([
  ['Newsletter', ['1', '2', '1']],
  ['Newsletter', ['2', '2']],
  ['Newsletter', ['0', '1', '2', '']],
  ['Newsletter', ['1001', '1002']],
  ['Newsletter', ['no', 'jane@example.com', '']],
  ['OPTIN_TIME', ['2025-01-01 10:00', 'see the letter', '2025-01-02 10:00']],
  ['Marketing', ['1', '2']],
  ['Marketing', ['O', '']],
  ['Unsubscribed', ['1', '2']],
  ['Opt-in / Opt-out', ['yes', 'no']],
  ['Opt-in / Opt-out', ['1', '0']],
  ['Opt-in / Opt-out', ['active', 'inactive']],
  ['do_not_email', ['enabled', 'disabled']],
  ['Newsletter', Array.from({ length: 50 }, (_, i) => (i === 0 ? 'no' : `topic ${i}`))],
  ['OPTIN_TIME', Array.from({ length: 50 }, (_, i) => (i === 0 ? 'no' : `2025-01-${10 + (i % 20)} 10:${10 + i}`))],
] as const)('the hint for a column %s with %j names no values', ([column, cells]) => {
  expect(consentLineFor(column, cells)).toBe(
    `consent: { column: "${column}", values: ["${unknownYes}"] }, with the values that mean yes instead of ${unknownYes}`,
  )
  expect(proposalFor(column, cells).certain).toBe(false)
})

test('no proposed test for a column of dates passes a word in a row that is not counted', () => {
  for (const date of ['2025-01-02', '2025-01-02 10:00:00', '02.01.2025', '1/31/25'])
    for (const column of ['opt_in_date', 'Newsletter', 'withdrawn']) {
      const values = new ColumnValues(today)
      for (let row = 0; row < 20_000; row++) values.add(date)
      for (const cell of ['withdrawn', 'no', '']) values.add(cell)
      const { test: made, certain } = proposeTest(column, classifyColumnName(column), values)
      const passes = cellTest(made)
      expect([column, date, passes('withdrawn'), passes('no')]).toEqual([column, date, false, false])
      expect([column, date, certain]).toEqual([column, date, column !== 'withdrawn' && date.startsWith('2025')])
    }
})

test('zero and one with decimals are no and yes', () => {
  expect(consentLineFor('Newsletter', ['1.0', '0.0', ''])).toBe('consent: { column: "Newsletter", values: ["1.0"] }')
})

/** Names about deleted records and dead people: after a yes or a date, the person must not be reached. */
test.for([
  ['deceased', ['true', 'false', ''], ['false', '']],
  ['npsp__Deceased__c', ['1', '0'], ['0']],
  ['Date of Death', ['', '2024-03-01'], ['']],
  ['Verstorben', ['ja', 'nein'], ['nein']],
  ['Date de décès', ['', '01/03/2024'], ['']],
  ['is_deleted', ['true', 'false'], ['false']],
  ['IsDeleted', ['1', '0'], ['0']],
  ['deletedAt', ['', '2024-03-01T10:00:00Z'], ['']],
  ['_fivetran_deleted', ['true', 'false'], ['false']],
  ['_ab_cdc_deleted_at', ['', '2024-03-01T10:00:00Z'], ['']],
  ['Gelöscht am', ['', '01.03.2024'], ['']],
  ['Löschkennzeichen', ['X', ''], ['']],
  ['Contact Is In Trash', ['1', '0'], ['0']],
  ['account_closed_at', ['', '2024-03-01'], ['']],
  ['anonymized', ['1', '0'], ['0']],
  ['deletion_requested_at', ['', '2024-03-01'], ['']],
  ['Account deletion request', ['yes', 'no'], ['no']],
  ['marked_for_deletion', ['true', 'false'], ['false']],
  ['退会日', ['', '2024-03-01'], ['']],
] as const)('an unmapped column %s with %j stops the run, and %j passes', ([column, cells, values]) => {
  const ignore = `; or, for columns that are not about consent: ignore: ["${column}"]`
  expect(consentLineFor(column, cells)).toBe(`${consentLine([{ column, values }])}${ignore}`)
})

test.for([
  ['is_deleted', ['false', 'false']],
  ['IsDeleted', ['0', '0']],
  ['deleted_at', ['', '']],
  ['deleted_at', ['', '0000-00-00']],
  ['deleted_at', ['9999-12-31', '9999-12-31 23:59:59']],
  ['deleted_at', ['1900-01-01', '1900-01-01 00:00:00.000', '1899-12-30']],
  ['deleted_at', ['1/1/0001 12:00:00 AM', '12/31/1969', '01.01.1970', '00.00.0000', '00/00/0000']],
  ['deleted_at', ['2079-06-06', '2099-12-31', '2999-12-31', '99991231']],
  ['deceased', ['N', '']],
  ['Deceased spouse', ['yes', 'no']],
  ['Deceased pet', ['yes', 'no']],
  ['Pet status', ['Deceased', 'Active']],
  ['Animal', ['Deceased', 'Active']],
  ["Father's occupation", ['Deceased', 'Baker']],
  ['ip_address', ['anonymized', '192.0.2.1']],
  ['Deleted items', ['3', '1']],
  ['deleted_by', ['17', '']],
  ['closed_at', ['', '2024-03-01']],
  ['is_active', ['true', 'false']],
  ['state', ['enabled', 'disabled', 'invited']],
  ['Spouse deceased', ['yes', 'no']],
  ['contact_preference', ['email', 'none']],
  ['Preferred contact method', ['Email', 'Phone', 'None']],
  ['Preferred contact method', ['Email', 'No preference', 'Unknown', 'Not specified', 'Unspecified', 'Not applicable', 'Pending']],
  ['Contact preference', ['Keine Angabe', 'Non renseigné', 'No Preference Given', 'Invalid']],
  ['Order status', ['deleted', 'paid']],
  ['Note', ['call back, unsubscribed', '']],
  ['Tags', ['vip, newsletter', 'new']],
  ['Tags', ['complaint, refund', 'trampoline, bounce']],
  ['Categories', ['cleaned, shoes']],
] as const)('an unmapped column %s with %j does not stop the run', ([column, cells]) => {
  expect(consentLineFor(column, cells)).toBeUndefined()
})

test.for([
  ['CTPS Registered', 'phone'],
  ['Telephone Preference Service', 'phone'],
  ['Bloctel', 'phone'],
  ['Bel-me-niet', 'phone'],
  ['MPS', 'other'],
  ['GAMSTOP', 'any'],
  ['cease_contact', 'any'],
] as const)('%s is an opt-out by its name', ([column, channel]) => {
  expect(classifyColumnName(column)).toEqual({ polarity: 'out', channel, certain: true })
})

test.for([
  ['Erasure requested', ['pending', 'no'], ['no']],
  ['deletion_request', ['In progress', ''], ['']],
] as const)('%s with %j is an opt-out, and %j passes', ([column, cells, values]) => {
  expect(consentLineFor(column, cells)).toContain(consentLine([{ column, values }]))
})

test.for([
  ['TPS', ['Y', 'N'], true],
  ['CTPS', ['0', '1'], true],
  ['TPS', ['Registered', ''], true],
  ['TPS', ['4.35', '0.00', '12.10'], false],
  ['CTPS', ['1234567', ''], false],
] as const)('%s with %j is a list of people who do not want calls: %s', ([column, cells, isFound]) => {
  const unmapped = new UnmappedColumns({ searchesConsent: true, types: ['phone_number'], today, isIgnored: () => false })
  const { warnings, checkRow } = unmapped.bind({
    columns: [column],
    usedIndexes: new Set(),
    identifiers: [{ type: 'phone_number', indexes: [] }],
  })
  const found = [...warnings, ...cells.flatMap((cell) => checkRow({ line: 2, columns: [column], cells: [cell] }))]
  expect(found.length > 0).toBe(isFound)
})

test('the hint for deleted records keeps the dates that programs write for none', () => {
  expect(consentLineFor('deleted_at', ['9999-12-31', '9999-12-31', '2024-01-01', ''])).toContain('values: ["", "9999-12-31"]')
})

test.for([
  ['Contact preference', ['Email', 'Do not contact me'], '{ column: "Contact preference", values: ["Email"] }'],
  ['Contact preference', ['Email', 'Do not send information'], '{ column: "Contact preference", values: ["Email"] }'],
  ['Contact preference', ['Email', 'Never'], '{ column: "Contact preference", values: ["Email"] }'],
  ['Account status', ['active', 'anonymized'], '{ column: "Account status", values: ["active"] }'],
  ['Status', ['Active', 'Deceased'], '{ column: "Status", values: ["Active"] }'],
  ['Account Status', ['active', 'deleted'], '{ column: "Account Status", values: ["active"] }'],
  ['Contact preference', ['Email', 'No contact'], '{ column: "Contact preference", values: ["Email"] }'],
  ['us_privacy', ['1YNN', '1YYN'], '{ column: "us_privacy", values: ["1YNN"] }'],
  ['Tags', ['vip, unsubscribed', 'vip', 'new'], '{ column: "Tags", not_values: ["unsubscribed"] }'],
  ['Labels', ['Customer', 'Unsubscribed;Customer', 'Bounced'], '{ column: "Labels", not_values: ["Unsubscribed", "Bounced"] }'],
  ['Solicit Codes', ['Do Not Email; Do Not Phone', ''], '{ column: "Solicit Codes", not_values: ["Do Not Email", "Do Not Phone"] }'],
] as const)('an unmapped column %s with %j is about consent by its cells: %s', ([column, cells, line]) => {
  expect(consentLineFor(column, cells)).toBe(`consent: ${line}`)
})

test('warnings about deleted records name only their lines', () => {
  const columns = ['is_deleted']
  const unmapped = new UnmappedColumns({ searchesConsent: true, types: ['email'], today, isIgnored: () => false })
  const { checkRow } = unmapped.bind({ columns, usedIndexes: new Set(), identifiers: [] })
  const cells = ['false', 'true', 'false', 'true']
  expect(cells.flatMap((cell, i) => checkRow({ line: i + 2, columns, cells: [cell] })).map(({ line }) => line)).toEqual([3, 5])
})

test('warnings about lists and choices of contact show only the opt-out of the cell', () => {
  const columns = ['Tags', 'Contact preference']
  const unmapped = new UnmappedColumns({ searchesConsent: true, types: ['email'], today, isIgnored: () => false })
  const { checkRow } = unmapped.bind({ columns, usedIndexes: new Set(), identifiers: [] })
  const warnings = checkRow({ line: 2, columns, cells: ['Jane Doe, unsubscribed', 'No, ask Jane Doe'] })
  expect(warnings.map(({ message }) => message)).toEqual([
    'the column "Tags" says who may be reached ("unsubscribed"), and no setting reads it',
    'the column "Contact preference" says who may be reached (by its name and its values), and no setting reads it',
  ])
  expect(unmapped.consentHint([])).not.toContain('Jane')
  expect(unmapped.shownValues('Tags')).toBe('')
})

function consentLineFor(column: string, cells: readonly string[]) {
  const unmapped = new UnmappedColumns({ searchesConsent: true, types: ['email'], today, isIgnored: () => false })
  const { warnings, checkRow } = unmapped.bind({ columns: [column], usedIndexes: new Set(), identifiers: [] })
  expect(warnings.every(({ code }) => code === 'CONSENT_UNMAPPED')).toBe(true)
  for (const [at, cell] of cells.entries()) checkRow({ line: at + 2, columns: [column], cells: [cell] })
  return unmapped.consentHint([])
}

function proposalFor(column: string, cells: readonly string[]) {
  const values = new ColumnValues(today)
  for (const cell of cells) values.add(cell)
  return proposeTest(column, classifyColumnName(column), values)
}

test.for([
  ['SMS Consent', 'the column "SMS Consent" is about calls and texts, and no identifier of that channel is sent: it is not applied'],
  ['Push Consent', 'the column "Push Consent" is about another channel, and no identifier of that channel is sent: it is not applied'],
])('a consent column of a channel that is not used gives a warning: %s', ([column = '', message]) => {
  const unmapped = new UnmappedColumns({ searchesConsent: true, types: ['email'], today, isIgnored: () => false })
  const { warnings } = unmapped.bind({
    columns: ['Email', column],
    usedIndexes: new Set([0]),
    identifiers: [{ type: 'email', indexes: [0] }],
  })
  expect(warnings).toEqual([{ line: 1, code: 'CONSENT_OTHER_CHANNEL', field: column, message }])
  expect(unmapped.consentColumns()).toEqual([])
})

test('a column with an identifier in fewer than half of its cells is no identifier column, also in a long source', () => {
  const unmapped = new UnmappedColumns({ searchesConsent: false, types: ['email'], today, isIgnored: () => false })
  const columns = ['Note']
  const { checkRow } = unmapped.bind({ columns, usedIndexes: new Set(), identifiers: [] })
  const add = (rows: number, cell: string) => {
    for (let i = 0; i < rows; i++) checkRow({ line: i + 2, columns, cells: [cell] })
  }
  add(19_000, 'call back')
  add(11_000, 'jane@example.com')
  expect(unmapped.identifierColumns()).toEqual([])
  add(8_000, 'jane@example.com')
  expect(unmapped.identifierColumns()).toMatchObject([{ column: 'Note', type: 'email', count: 19_000 }])
})

test.for([
  'p:+49 170 5550100',
  'P:+49 170 5550100',
  'tel:+49-170-5550100',
  'Tel:+49-170-5550100',
  'TEL:+491705550100',
  ' +49 170 5550100 ',
  '+491705550100',
])('an unmapped column of phone numbers is reported: %j', (phone) => {
  const columns = ['Contact']
  const unmapped = new UnmappedColumns({ searchesConsent: false, types: ['phone_number'], today, isIgnored: () => false })
  const { checkRow } = unmapped.bind({ columns, usedIndexes: new Set(), identifiers: [] })
  for (let line = 2; line < 30; line++) checkRow({ line, columns, cells: [phone.replace('100', String(100 + line))] })
  expect(unmapped.identifierColumns()).toMatchObject([{ column: 'Contact', type: 'phone_number', count: 28 }])
})

/** Returns true if a column with this name and these cells is reported as one of phone numbers. */
function isReportedAsPhones(column: string, cells: readonly string[]): boolean {
  const unmapped = new UnmappedColumns({ searchesConsent: false, types: ['phone_number'], today, isIgnored: () => false })
  const { checkRow } = unmapped.bind({ columns: [column], usedIndexes: new Set(), identifiers: [] })
  for (const [i, cell] of cells.entries()) checkRow({ line: i + 2, columns: [column], cells: [cell] })
  return unmapped.identifierColumns().length > 0
}

test.for([
  ['Mobile', ['2024-05-01', '2024-05-02']],
  ['Mobile', ['20240501', '20240502']],
  ['Mobile', ['31.01.2024', '28/02/2024']],
  ['sms_consent_date', ['1714521600', '1714521601']],
  ['mobile_last_seen', ['1714521600', '1714521601']],
  ['SMS Marketing Consent Timestamp', ['1714521600000', '20240502103000']],
] as const)('dates in the column %s are no phone numbers: %j', ([column, cells]) => {
  expect(isReportedAsPhones(column, cells)).toBe(false)
})

test.for([
  ['phonenumber', ['2025550143', '2025550144']],
  ['phone1', ['2025550143', '2025550144']],
  ['homephone', ['2025550143', '2025550144']],
  ['workphone', ['2025550143', '2025550144']],
  ['tel2', ['2025550143', '2025550144']],
  ['WhatsAppNumber', ['2025550143', '2025550144']],
  ['Mobile', ['06.12.34.56.78', '06.12.34.56.79']],
  ['Mobil', ['20123456', '20123457']],
] as const)('the column %s contains phone numbers: %j', ([column, cells]) => {
  expect(isReportedAsPhones(column, cells)).toBe(true)
})

test.for(['headphones', 'microphone', 'Telex'])('%s is not a name of a phone column', (column) => {
  expect(isReportedAsPhones(column, ['2025550143', '2025550144'])).toBe(false)
})

test.for(['订阅', '退订', '退会', '구독'])('the state %s of two characters is recognized', (cell) =>
  expect(isSubscriptionState(cell)).toBe(true),
)

test.for([
  'Frameldt nyhedsbrev',
  'Nyhedsbrev frameldt dato',
  'Samtykke frameldt',
  'Newsletter frameldt',
  'Frameldt dato',
  'Frameldt e-mail',
  'Odhlásenie zo zasielania newslettera',
  'Odhlášení z odebírání newsletterů',
  'Odhlásil se z newsletteru',
  'Odhláška z newsletteru',
  'Odhlášen z obchodních sdělení',
  'Odhlášen z SMS',
  'Odhlášen z rozesílky',
  'Newsletter kielto',
  'SMS-kielto',
  'Tekstiviestikielto',
  'Email kielto',
  'Sprzeciw GDPR',
  'Rezygnacja GDPR',
  'Rezygnacja mailing list',
  'Rezygnacja z mailingu',
  'Data rezygnacji z mailingu',
  'Rezygnacja z informacji handlowych',
  'Sprzeciw RODO',
  'Sprzeciw wobec przetwarzania danych',
  'Non contattabile',
  'Niet contact opnemen',
  'Newsletter: niet contact',
])('%s is an opt-out, whatever its cells are', (column) =>
  expect(classifyColumnName(column)).toMatchObject({ polarity: 'out', certain: true }),
)

test.for(['Email subscription cancelled at', 'SMS subscription ended at'])('%s is an opt-out, also with dates', (column) => {
  const name = classifyColumnName(column)
  expect([name?.polarity, name?.needsFlags]).toEqual(['out', undefined])
})

test.for(['Bounces', 'Email bounces', 'Soft bounces'])('%s is an opt-out only with yes and no in words', (column) =>
  expect(classifyColumnName(column)).toMatchObject({ polarity: 'out', needsFlags: true }),
)

test.for([
  ['Updates', ['Subscribed', 'Unsubscribed']],
  ['Advertising', ['granted', 'opted out']],
  ['Contact', ['', 'unsubscribed', '']],
  ['Bounces', ['none', 'hard_bounce']],
  ['Subscription cancelled at', ['2024-01-02', 'do not contact']],
] as const)('an unmapped column %s with %j is about consent by its states, although its name is vague', ([column, cells]) => {
  expect(consentLineFor(column, cells)).toContain(`consent: { column: "${column}"`)
})

/** Dates and answers of these columns do not say that the person consents now. */
const notYetOrNoMore = [
  'consent_until',
  'Consent valid to',
  'consent_expires',
  'Consent expiry date',
  'opt_in_expiration',
  'Einwilligung gültig bis',
  "Consentement valable jusqu'au",
  'Zgoda ważna do',
  'opt_in_requested_at',
  'double_opt_in_sent_at',
  'Opt-in pending since',
  'Consent asked',
  'Newsletter sent at',
  'Newsletter opened',
  'Last newsletter',
  'Newsletter revoked',
  'Opt-in withdrawn at',
  'Newsletter paused',
  'Newsletter gesperrt',
  'Consentement retiré',
  'Consenso revocato',
  'Newsletter uitgezet',
  'Zgoda cofnięta',
  'Zgoda odwołana',
  'Согласие отозвано',
  'Souhlas odvolán',
]
/** A hint with `values: ["yes"]` would send the people who refused. */
test.for([
  'Newsletter ausgetragen',
  'Newsletter unerwünscht',
  'Will keinen Newsletter',
  'Einwilligung zurückgezogen',
  'Einwilligung fehlt',
  'Zonder toestemming',
  'Weigert nieuwsbrief',
  'Retrait du consentement',
  'Suscripción anulada',
  'Deniega consentimiento',
  'Consenso negato',
  'Consentimento revogado',
  'Sem consentimento',
  'Não quer newsletter',
  'Vill inte ha nyhetsbrev',
  'Ønsker ikke nyhetsbrev',
  'Ej utskick',
  'perunut uutiskirjeen',
  'Pazarlama izni yok',
  'Odmowa zgody',
  'Odmítl newsletter',
  'Hozzájárulás nélkül',
  'Fără consimțământ',
  'Povučena privola',
  'Preklicano soglasje',
  'Atšauktas sutikimas',
  'Atsaukta piekrišana',
  'Ilma nõusolekuta',
  'διαγραφή newsletter',
  'χωρίς συγκατάθεση',
  'הסרה מדיוור',
  'ללא הסכמה',
  'إلغاء موافقة',
  'بدون موافقة',
  'Исключен из рассылки',
  'Запрет рассылки',
  'відмова від розсилки',
  'メルマガ停止',
  'メルマガ解除',
  '配信許可なし',
  '不同意',
  '未订阅',
  '拒绝接收短信',
  '수신동의 철회',
  '미동의',
  'Without consent',
  'Consent rescinded',
  "Doesn't want newsletter",
  'Newsletter unwanted',
  'Tanpa persetujuan',
  'từ chối nhận tin',
  'ไม่ยินยอม',
  'असहमत',
])('the name %s has a word of a refusal, so it does not show what a yes means', (column) => {
  expect(classifyColumnName(column)).toMatchObject({ polarity: 'unclear' })
  for (const cells of [
    ['yes', 'no', ''],
    ['1', '0', '1'],
  ])
    expect(proposalFor(column, cells)).toMatchObject({ test: { values: [unknownYes] }, certain: false })
})

/** Fields of more systems: their names, their states, and objects of JSON in a cell. */
test.for([
  ['third_party_sharing', ['1', '0'], ['1']],
  ['is_lat', ['0', '1'], ['0']],
  ['tracking_enabled', ['1', '0'], ['1']],
  ['Restriction of processing', ['0', '1'], ['0']],
  ['att_status', ['3', '2'], [unknownYes]],
  ['IABTCF_TCString', ['CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA', ''], [unknownYes]],
  ['gpp_string', ['DBABMA~CPX', ''], [unknownYes]],
  ['usp', ['1YN-', '1YY-'], ['1YN-']],
  ['targeting_cookies', ['accepted', 'rejected'], ['accepted']],
  ['mkt', ['allowed', 'denied'], ['allowed']],
  ['ads', ['enabled', 'disabled'], ['enabled']],
  ['email_notifications', ['true', 'false'], ['true']],
  ['Partner offers', ['1', '0'], ['1']],
  ['Keep me updated', ['Yes', 'No'], ['Yes']],
  ['Would you like to hear from us?', ['Yes', 'No'], ['Yes']],
  ['hs_email_bad_address', ['true', 'false', ''], ['false', '']],
  ['Data Processing Basis', ['Consent - Obtained', 'Consent - Pending', 'Not Applicable'], ['Consent - Obtained']],
  ['Email permission status', ['Express', 'Pending confirmation', 'Unsubscribed'], ['Express']],
  ['emailMarketingConsent.marketingState', ['SUBSCRIBED', 'PENDING'], ['SUBSCRIBED']],
  ['NDNC', ['Y', 'N'], ['N']],
  ['No Bulk Emails (User Opt Out)', ['Yes', 'No'], ['No']],
  ['removed_at', ['', '2026-01-02'], ['']],
  ['Removed from list', ['yes', 'no'], ['no']],
  ['KNA1_LOEVM', ['', 'X'], ['']],
  ['XDELE', ['', 'X'], ['']],
  ['XDEAD', ['', 'X'], ['']],
  ['NOT_RELEASED', ['', 'X'], ['']],
  ['RODO', ['tak', 'nie'], ['tak']],
  ['AVG', ['ja', 'nee'], ['ja']],
  ['SOLICIT_IND', ['Y', 'N'], ['Y']],
  ['No Solicit', ['Y', 'N'], ['N']],
  ['contact_ind', ['Y', 'N'], ['Y']],
  ['DM不要', ['0', '1'], ['0']],
  ['Communication Restrictions', ['DoNotCall|DoNotMail', 'yes'], [unknownYes]],
  ['Kontaktverbot', ['', 'X'], ['']],
  ['Plus de contact', ['non', 'oui'], ['non']],
  ['Lista nera', ['no', 'si'], ['no']],
  ['No molestar', ['no', 'sí'], ['no']],
  ['Czarna lista', ['nie', 'tak'], ['nie']],
  ['Чёрный список', ['нет', 'да'], ['нет']],
  ['ブラックリスト', ['', '1'], ['']],
  ['黑名单', ['否', '是'], ['否']],
  ['블랙리스트', ['N', 'Y'], ['N']],
  ['メールマガジン希望', ['希望する', '希望しない'], ['希望する']],
  ['뉴스레터', ['Y', 'N'], ['Y']],
  ['prefs', ['{"email":true}', '{"email":false}'], [unknownYes]],
  ['properties', ['{"name":"Jo","newsletter":"yes"}', '{"name":"Jo","newsletter":"no"}'], [unknownYes]],
  ['raw', ['{"status":"unsubscribed"}', ''], [unknownYes]],
  ['consents', ['[{"channel":"email","granted":false}]', 'no'], [unknownYes]],
  ['profile', ['{"marketing":{"email":false}}', '{"marketing":{"email":true}}'], [unknownYes]],
  ['data', ['{"vip":true,"unsubscribed_at":"2024-05-01"}', '{"vip":true}'], [unknownYes]],
  ['data', ['{"tags":["vip","unsubscribed"]}', '{"tags":[]}'], [unknownYes]],
  ['profile', ['{"deleted":true}', '{"deleted":false}'], [unknownYes]],
  ['Sperre (kein Mailing) seit', ['2024-05-01', ''], [unknownYes]],
  ['Marketing not sent (off) since', ['2024-05-01', ''], [unknownYes]],
] as const)('an unmapped column %s with %j stops the run, and the hint lists only %j', ([column, cells, values]) => {
  expect(consentLineFor(column, cells)).toContain(consentLine([{ column, values }]))
})

test.for([
  ['meta', ['{"size":"M","vip":"no"}', '{"vip":true}']],
  ['properties', ['{"language":"no","newsletter_language":"no"}']],
  ['Address', ['1 NY Street', '1YYZ']],
  ['profile', ['{"deleted":false,"is_minor":"no"}', '{"deleted":null}']],
  ['mkt_code', ['NO', 'SE', 'DK']],
  ['Tax exclusion', ['Yes', 'No']],
  ['avg', ['12.5', '30']],
  ['Solicitor', ['Yes', 'No']],
  ['Not released before', ['2024-05-01', '']],
  ['profile', ['{"sms_opt_in":false,"push_opt_in":false}']],
  ['profile', ['{"spouse":{"status":"Deceased"}}', '{"marketing":{"source":"no"},"vip":true}']],
] as const)('an unmapped column %s with %j does not stop the run', ([column, cells]) => {
  expect(consentLineFor(column, cells)).toBeUndefined()
})

/** Names with a word that no list has, and questions that mention the right to opt out later. */
test.for([
  'gdpr_forget_me',
  'gdpr_applies',
  'consent_overdue',
  'opt_in_reversed',
  'uncontactable',
  'previously_subscribed',
  'newsletter_out',
  'Newsletter off',
  'Newsletter Ende',
  'DSGVO-Löschantrag',
  'Newsletter arrêtée le',
  'RGPD oubli',
  'Boletín bloqueado',
  'Consenso interrotto',
  'Toestemming afgelopen',
  'Zgoda wygasła',
  'Samtycke upphört',
  'Samtykke udløbet',
  'Suostumus päättynyt',
  'Bülten durduruldu',
  'Подписка остановлена',
  'Souhlas vypršel',
  'Hozzájárulás lejárt',
  'Consimțământ expirat',
  'Súhlas chýba',
  'Privola istekla',
  'メルマガ終了',
  '订阅已过期',
  '수신동의 해제',
  'Not unsubscribed',
  'Kein Widerspruch',
  'No objection to marketing',
  'Consent not withdrawn',
  'Newsletter never cancelled',
  'Werbesperre aufgehoben',
  'не отписан',
  'Opt-out revoked at',
  'Do not call: withdrawn on',
  'Opt-out expired',
  'Opt-out ended',
  'Unsubscribe rejected',
  'Widerspruch abgelehnt',
  'Would you like our newsletter? You can unsubscribe at any time.',
  'Yes, I want the newsletter (unsubscribe any time)',
  'I agree to receive newsletters. My data will not be shared',
  'Receive our newsletter (we do not share your data)',
  'Ja, ich möchte den Newsletter erhalten. Abmeldung jederzeit möglich.',
  "J'accepte de recevoir la newsletter (désinscription à tout moment)",
  'Acconsento a ricevere la newsletter. Posso disiscrivermi in qualsiasi momento',
  'Zgadzam się na newsletter, mogę się wypisać w każdej chwili',
  'メルマガを受け取る(いつでも配信停止できます)',
  '订阅邮件（可随时退订）',
  `By sending this form you agree that we may process the personal data that you enter here for the purposes of our terms, and that we may
    send you our newsletter by email. You can change this decision whenever you like.`,
])('the name %s does not show what a yes means, so the hint names no values', (column) => {
  expect(classifyColumnName(column)).toMatchObject({ polarity: 'unclear', certain: true })
  for (const cells of [
    ['yes', 'no', ''],
    ['1', '0', '1'],
    ['2024-01-02', '', '2025-01-02'],
  ])
    expect(proposalFor(column, cells)).toMatchObject({ test: { values: [unknownYes] }, certain: false })
})

/** Names of several words, in many languages, which mean the same beside a word of consent. */
test.for([
  'emailMarketingConsent.marketingOptInLevel',
  'I would like to receive offers by email',
  'GDPR Marketing Permissions',
  'Newsletter signup date',
  'Einwilligung Datenverarbeitung',
  'Newsletter angemeldet am',
  "J'accepte les offres des partenaires",
  'Inscrit à la newsletter',
  'Acepta comunicaciones comerciales',
  'Consenso trattamento dati',
  'Nieuwsbrief ontvangen',
  'Zgoda na otrzymywanie informacji handlowych',
  'Samtykke til nyhedsbrev',
  'Suostumus markkinointiin',
  'Ticari elektronik ileti onayı',
  'Согласие на обработку персональных данных',
  'Souhlas se zasíláním obchodních sdělení',
  'Hírlevél feliratkozás',
  'Згода на обробку персональних даних',
  'メルマガ登録',
  '是否订阅',
  '마케팅 수신동의 여부',
])('a yes in the column %s lets the person be reached', (column) => expect(classifyColumnName(column)?.polarity).toBe('in'))

// Quadratic time would be longer than the timeout.
test.for([' '.repeat(500_000), `[${' '.repeat(500_000)}`, '{"a":'.repeat(100_000), `{${'"'.repeat(500_000)}`])(
  'a long cell is searched for objects in linear time (%#)',
  (cell) => expect(consentLineFor('prefs', [cell])).toBeUndefined(),
)

test.for([0, 100, 190, 197, 240])('a long question with a word of consent after %d characters is about consent', (length) => {
  const text = (word: string) => word.repeat(length).slice(0, length)
  expect(classifyColumnName(`${text('word ')} opt in ${'word '.repeat(50)}`)?.certain).toBe(true)
  expect(classifyColumnName(`${text('字')}退订${'字'.repeat(250)}`)?.certain).toBe(true)
})

// A search whose time grows with a power of the length would be longer than the timeout.
test.for([
  ['opt in ', 'unclear'],
  ['unsub ', 'unclear'],
  ['no ', undefined],
  ['x', undefined],
] as const)('a name of 100,000 characters is classified in linear time: %s', ([text, polarity]) =>
  expect(classifyColumnName(text.repeat(100_000 / text.length))?.polarity).toBe(polarity),
)

test.for([
  ['in', 'ad_user_data', 'ad_personalization', 'Share with partners', 'Werbekennzeichen', 'Kontaktfreigabe', 'Freigabe E-Mail'],
  ['in', 'Darf angeschrieben werden', 'Mag gemaild worden', 'Autorisation email', 'Contacto permitido', 'Comunicaciones comerciales'],
  ['in', 'Comunicazioni commerciali', 'Profilazione', 'prenumererar', 'συναίνεση', '配信希望', '接受营销'],
  ['out', 'Opposizione', 'não contatar', 'No solicitar', 'bezwaar', 'Nekontaktovat', 'Neposílat', 'Απεγγραφή', 'atsisakė'],
  ['out', 'メール拒否', '配信不可', '受信拒否フラグ', '案内不要', '拒收', '구독 해지', 'إلغاء الاشتراك', 'Hủy đăng ký'],
  ['out', 'under_13', 'is_minor', 'Minderjährig', 'Menor de edad'],
] as const)('a yes in columns of an export counts as %s', ([polarity, ...columns]) => {
  for (const column of columns) expect([column, classifyColumnName(column)?.polarity]).toEqual([column, polarity])
  for (const column of columns) expect([column, proposalFor(column, ['yes', 'no', 'no', 'yes'])]).toEqual([column, expect.anything()])
})

test.for([
  'Children under 12',
  'Household members under 18',
  'Minderjährige Kinder',
  'Kreditfreigabe',
  'Versandfreigabe',
  '拒收原因',
  '拒收件数',
])('the name %s is not about the consent or age of the person', (column) => expect(classifyColumnName(column)).toBeUndefined())

test.for(['Odbiorca newslettera', 'Zgoda na odbiór newslettera'])('a yes in %s lets the person be reached', (column) => {
  expect(classifyColumnName(column)).toMatchObject({ polarity: 'in' })
})

test.for(['Desuscrito', 'Abonelikten çıktı', '取消订阅', '取消訂閱'])('a yes in %s opts out', (column) => {
  expect(classifyColumnName(column)).toEqual({ polarity: 'out', channel: 'any', certain: true })
})

test.for(notYetOrNoMore)('the name %s is about consent, and does not show what a yes or a date means', (column) => {
  expect(classifyColumnName(column)).toEqual({ polarity: 'unclear', channel: 'any', certain: true })
  for (const cells of [
    ['2024-01-02', '', '2031-05-06'],
    ['2024-01-02', '', '2025-01-02'],
    ['yes', 'no', ''],
    ['1', '0', '1'],
  ])
    expect(proposalFor(column, cells)).toMatchObject({ test: { values: [unknownYes] }, certain: false })
  // A state means the same in every column.
  expect(proposalFor(column, ['subscribed', 'unsubscribed'])).toMatchObject({ test: { values: ['subscribed'] }, certain: true })
})

test('an empty date that a program writes as 1 January 1970 is no consent', () => {
  const { test: made, certain } = proposalFor('OPTIN_TIME', ['2024-01-02 10:00:00', '1970-01-01 00:00:00', ''])
  const passes = cellTest(made)
  expect(certain).toBe(true)
  for (const empty of ['1970-01-01', '1970-01-01 00:00:00', '1970-01-01T01:00:00+01:00', '1969-12-31T16:00:00-08:00', '1900-01-01'])
    expect([empty, passes(empty)]).toEqual([empty, false])
  expect(passes('1999-05-06')).toBe(true)
})

test('a date in the future may be the end of a consent, so the user decides', () => {
  for (const date of ['2026-11-29', '2027-01-01 10:00:00', '9999-12-31'])
    expect(proposalFor('Consent date', ['2024-01-02', '2025-01-02', date])).toMatchObject({
      test: { values: [unknownYes] },
      certain: false,
    })
  // A date of today in a zone that is ahead.
  expect(proposalFor('Consent date', ['2024-01-02', '2025-01-02', '2026-11-28 02:00:00'])).toMatchObject({ certain: true })
})

/** Names and values of further languages, and further English names. */
test.for([
  ['Email Subscriber', ['Y', 'N'], ['Y']],
  ['Special offers', ['Yes', 'No'], ['Yes']],
  ['email me', ['Yes', 'No'], ['Yes']],
  ['Opted', ['in', 'out'], ['in']],
  ['EM_OPT', ['1', '0'], ['1']],
  ['MKTG_PERM', ['1', '0'], ['1']],
  ['Erasure requested', ['yes', 'no'], ['no']],
  ['Right to object', ['yes', 'no'], ['no']],
  ['limit_ad_tracking', ['1', '0'], ['0']],
  ['ATT status', ['authorized', 'denied'], ['authorized']],
  ['NL', ['ja', 'nein'], ['ja']],
  ['Rundschreiben', ['ja', 'nein'], ['ja']],
  ['Keine E-Mails', ['X', ''], ['']],
  ['Datenschutz', ['akzeptiert', 'abgelehnt'], ['akzeptiert']],
  ['Offres partenaires', ['oui', 'non'], ['oui']],
  ['Ne souhaite plus recevoir', ['oui', 'non'], ['non']],
  ['Recibir ofertas', ['sí', 'no'], ['sí']],
  ['Revoca', ['si', 'no'], ['no']],
  ['Subscrito', ['sim', 'não'], ['sim']],
  ['Reclame', ['ja', 'nee'], ['ja']],
  ['Wil geen mail', ['ja', 'nee'], ['nee']],
  ['Ingen reklam', ['ja', 'nej'], ['nej']],
  ['Nej tak til mails', ['ja', 'nej'], ['nej']],
  ['Ei markkinointia', ['kyllä', 'ei'], ['ei']],
  ['Suoramarkkinointi', ['sallittu', 'kielletty'], ['sallittu']],
  ['Получать письма', ['да', 'нет'], ['да']],
  ['Не беспокоить', ['да', 'нет'], ['нет']],
  ['Підписка на розсилку', ['так', 'ні'], ['так']],
  ['Бюлетин', ['да', 'не'], ['да']],
  ['İYS', ['ONAY', 'RET'], ['ONAY']],
  ['Reklam istemiyor', ['Evet', 'Hayır'], ['Hayır']],
  ['Zasílat novinky', ['ano', 'ne'], ['ano']],
  ['Odjava', ['da', 'ne'], ['ne']],
  ['Hozzájárul', ['igen', 'nem'], ['igen']],
  ['Naujienlaiškis', ['taip', 'ne'], ['taip']],
  ['Piekrišana', ['jā', 'nē'], ['jā']],
  ['Uudiskiri', ['jah', 'ei'], ['jah']],
  ['Samþykki', ['já', 'nei'], ['já']],
  ['Butlletí', ['sí', 'no'], ['sí']],
  ['Baimena', ['bai', 'ez'], ['bai']],
  ['Ενημερωτικό δελτίο', ['ναι', 'όχι'], ['ναι']],
  ['דיוור', ['כן', 'לא'], ['כן']],
  ['النشرة البريدية', ['نعم', 'لا'], ['نعم']],
  ['सहमति', ['हाँ', 'नहीं'], ['हाँ']],
  ['ยินยอม', ['ใช่', 'ไม่'], ['ใช่']],
  ['Đồng ý nhận tin', ['có', 'không'], ['có']],
  ['Berlangganan', ['ya', 'tidak'], ['ya']],
  ['メール配信希望', ['希望する', '希望しない'], ['希望する']],
  ['ニュースレター', ['はい', 'いいえ'], ['はい']],
  ['接收推广邮件', ['是', '否'], ['是']],
  ['광고 수신', ['동의', '거부'], ['동의']],
] as const)('an unmapped column %s with %j is about consent, and %j passes', ([column, cells, values]) => {
  expect(consentLineFor(column, cells)).toContain(consentLine([{ column, values }]))
})

test.for([
  ['Preferred contact method', ['Email', 'Phone']],
  ['Partner email', ['jane@example.com', '']],
  ['NL', ['1011 AB', '1012']],
  ['MKT', ['DE', 'NO']],
  ['Reklamace', ['ano', 'ne']],
  ['Recibo', ['sí', 'no']],
  ['Ricevuta', ['si', 'no']],
  ['Offer code', ['SUMMER', '']],
  ['Datenschutzbeauftragter', ['J. Doe', '']],
  ['Opt', ['Blue', 'Red']],
  ['Card revoked', ['Berlin', '']],
  ['Exclusive size', ['M', 'L']],
] as const)('a column %s with %j is not about consent', ([column, cells]) => {
  expect(consentLineFor(column, cells)).toBeUndefined()
})

test.for(['Exclusive offers opt-in', 'Samtykke til markedsføring', 'Consent of the customer', 'CCPA consent', 'Newsletter annual'])(
  'a yes in the column %s permits to reach the person',
  (column) => expect(classifyColumnName(column)).toMatchObject({ polarity: 'in', certain: true }),
)

test('settings in hints keep columns whose names look like variables', () => {
  const line = consentLine([{ column: '${OK}', values: ['yes'] }])
  expect(expandVariables(parse(line), {})).toEqual({
    value: { consent: { column: '${OK}', values: ['yes'] } },
    problems: [],
    references: [],
  })
  const { setting = '' } = describeMissingColumn('price', [], ['${price}'])
  expect(expandVariables(parse(setting), {})).toEqual({ value: { price: '${price}' }, problems: [], references: [] })
})

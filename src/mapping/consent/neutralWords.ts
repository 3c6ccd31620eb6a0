/** Words that do not reverse the meaning of a consent column, in the languages of `namePatterns.ts`. Pure. */

/** Returns the words without accents, as `nameWords` does. */
const wordsOf = (...texts: readonly string[]): ReadonlySet<string> =>
  new Set(texts.join(' ').normalize('NFKD').replace(/\p{M}/gu, '').normalize('NFC').split(' '))

/**
 * Words that may stand beside a word of consent, in the form of `nameWords`. Beside any other word, a yes may mean the opposite:
 * `gdpr_forget_me`, `Newsletter arrêtée`, `Souhlas vypršel`.
 */
const neutral = wordsOf(
  'a an the to of for from by via or send sends with in on at and is are has have am do does i we us our you your my me this that they their per s',
  'customer customers client user users contact contacts member members subscriber person people profile account lead buyer shopper guest visitor patient donor consumer recipient individual',
  'e email emails mail mails mailing mailings sms text texts texting phone phones call calls mobile telephone tel whatsapp whats viber push web post postal letter letters fax channel channels digital electronic dm',
  'marketing newsletter newsletters news offer offers deals promo promos promotion promotions promotional advertising advertisement advertisements ads ad advert commercial direct main primary default overall general global special exclusive weekly monthly daily annual yearly quarterly regular brand product products shop store company group corporate business private personal personalised personalized data campaigns materials material women men kids club loyalty student blog topics vip b2 b2b b2c context mc service services comm medium category 3rd',
  'status state flag indicator level type value yn y n yes date time datetime timestamp ts utc day timezone',
  'given granted accepted accept accepts confirmed agreed agree agrees signed up signup sign ok okay active current valid explicit explicitly express expressed verified approved positive checked ticked received obtained collected recorded captured registered joined start started since first begin provided',
  'processing profiling terms conditions privacy policy statement notice gdpr dsgvo rgpd lgpd lopd ccpa casl third party parties partner partners sharing share transfer all any other use usage campaign',
  'information info communication communications message messages content updates website site online app cookie cookies notification notifications settings att authorization authorisation legal lawful basis purpose purposes tcpa sell hear keep touch posted tracking analytics targeting storage personalisation personalization retargeting audience',
  'want wants wish wishes like likes would receive receives get gets please interested subscribe subscribed subscribes subscription subscriptions optin opt opted double single soft doi list lists may can allowed allow allows permission permissions permitted permit reach provider number numbers frequency pref prefs preference preferences choice rating mktg mkt em nl c b eu uk fr de es it nl ch at en perm attributes properties customfields custom field fields cf hs hubspot shopify klaviyo mailchimp woocommerce wc salesforce braze',
  // German
  'der die das den dem des ein eine einen einer zu zum zur fur von vom mit im am an auf und ist hat ich wir uns sie ihr ihre kunde kunden kundin nutzer kontakt mitglied telefon telefonisch anruf anrufe brief werbung werbe werbliche werblich werblicher erteilt gegeben vorhanden liegt vor bestatigt gultig aktiv datum seit ja wert datenverarbeitung datenweitergabe datennutzung daten verarbeitung nutzung weitergabe elektronische elektronischer elektronisch kommunikation erlaubt erklart erklarung zugestimmt eingewilligt erhalten angemeldet anmeldung anmeldedatum registriert abonniert abonnent empfanger bezug erhalt wunscht mochte darf per oder angeschrieben kontaktiert angerufen beworben werden kennzeichen ansprache akzeptiert zustand adresse rundschreiben freigabe abo erwunscht gewunscht einverstandnis ungsdatum e',
  // French
  'j le la les l une des du d au aux par pour ou et est oui je nous vous membre utilisateur abonne abonnee courriel courriels telephone commercial commerciale commerciales lettre lettres offres informations donne donnee accorde recueilli recueillie statut etat valide actif active accepte acceptee inscription inscrit inscrite abonnement abonnements prospection partenaires tiers donnees personnelles personnel traitement politique confidentialite recevoir recoit souhaite reception partenaire accord contacte etre',
  // Spanish, Portuguese
  'el los las del al por para con y si cliente contacto usuario correo electronico telefono publicidad comerciales comunicaciones informacion noticias ofertas promociones fecha estado dado otorgado aceptado acepta activo valido datos personales tratamiento privacidad politica terceros recibir desea autoriza autorizado permitido suscripcion suscrito suscrita alta o os as da dos das ao em com sim contato correio telefone publicidade comunicacoes comercial concedido aceito ativo dados pessoais privacidade terceiros receber inscricao subscricao',
  // Italian
  'il lo gli di della dei delle alla sul contatto utente posta elettronica telefono commerciale commerciali comunicazioni informativa stato dato prestato fornito rilasciato accettato attivo valido dati personali trattamento terzi promozioni offerte ricevere iscrizione iscritto iscritta finalita envio',
  // Dutch
  'het een van voor met op aan door klant gebruiker telefoon reclame commerciele datum gegeven verleend geaccepteerd actief geldig gegevens verwerking persoonsgegevens derden aanbiedingen ontvangen ontvangt aanmelding aangemeld ingeschreven sinds mag gemaild gebeld bellen mailen benaderd worden',
  // Polish, Czech, Slovak
  'na w z od dla jest tak klient klienta telefon marketingowa marketingowe marketingowy marketingowych handlowe handlowa handlowych informacje informacji wyrazona udzielona akceptacja aktywna wazna dane danych osobowych przetwarzanie otrzymywanie odbior odbiorca newslettera newsletteru mailingu partnerow wysyłke wysyłka elektroniczna sie se k ke ze pro zakaznik zakaznika stav udelen udelena obchodni obchodnich obchodnych sdeleni zasilani zasielanie novinek zpracovani spracovanie osobnich udaju udajov odber marketingem marketingom ano rodo zasilanim zasielanim zpracovanim spracovanim so',
  // Swedish, Danish, Norwegian, Finnish, Icelandic
  'i pa till til fra fran med och og at att ar er kund kunde kunden bruger bruker epost marknadsforing markedsføring markedsforing reklame reklam dato givet gitt givit gyldig giltigt aktivt accepteret modtage mottage motta personopplysninger personuppgifter behandling sahkoposti sahkopostimarkkinointi puhelin tekstiviesti markkinointi markkinointiin suora paivamaara tila annettu voimassa asiakas lupa vill ha pameldt tilaaja tilattu',
  // Turkish, Hungarian, Romanian, the South Slavic languages
  'posta ticari elektronik ileti pazarlama onay onayi izni izin tarihi tarih durumu durum musteri var verildi acik riza idopontja datuma allapota feliratkozas feliratkozott re ugyfel pentru pe la si datele data acordat za u o od kupac kupca datum prodaju prijava',
  // Russian, Ukrainian, Bulgarian
  'на с от в и по для за клиент клиента контакт почта почту смс sms телефон реклама рекламу рекламы рекламной рекламные новости дата статус дано получено активна персональных данных персональные данные обработку обработка получение маркетинг маркетинговые подписки получать письма дані даних отримання розсилку розсилки маркетингови персональних обробку',
  // Endings after a word of consent
  'ement imiento imento erar ation acion azione iert iere ieren ungen pcion cion nti ntia ntiin ligi',
  // Greek, Hebrew, Arabic and others
  'για στο και με ημερομηνια email marketing κατασταση אימייל שיווק אישור קבלת תאריך ל البريد البريدية على التسويق الالكتروني تاريخ tin ban nhan',
)

/** Short words that are no endings of a word, because they reverse its meaning: `newsletteroff`. */
const reversingEndings = wordsOf('no not non off out aus nok end fin uit av ab weg bad ko ne нет не')

/** Parts of names in scripts without spaces, in the form of `nameWords`. */
const neutralParts =
  /希望|可否|有無|登録|受信|フラク|状態|状況|日時|年月日|日|会員|顧客|お客様|メール|マカシン|配信|案内|送付|送信|連絡|発送|許可|購読|区分|サーヒス|広告|营销|行銷|推广|推廣|邮件|郵件|电子|電子|短信|簡訊|信息|是否|时间|時間|日期|状态|狀態|接收|用户|客户|通知|마케팅|광고|수신|구독|여부|상태|일자|일|성|날짜|이메일|문자|정보|고객|개인정보|활용|제공|이용|동의|ตองการ|ขาวสาร|สาร/g
const scriptWithoutSpaces = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}ー]/u

/**
 * Returns true if all words of a name are words of consent or neutral. `patterns` match the words of consent. An inflection of up to three
 * letters may follow such a word: `Werbeeinwilligung`, `согласие`.
 */
export function hasOnlyNeutralWords(name: string, patterns: readonly RegExp[]): boolean {
  const isKnown = new Uint8Array(name.length)
  for (const { source, flags } of patterns)
    for (const match of name.matchAll(new RegExp(source, `${flags}g`))) isKnown.fill(1, match.index, match.index + match[0].length)
  for (const { 0: word, index: start } of name.matchAll(/[^ ]+/g))
    for (const [part, isEnding] of unknownParts(word, isKnown.subarray(start, start + word.length)))
      if (!isNeutralPart(part, isEnding)) return false
  return true
}

/** Returns the parts of a word that no pattern matched, and true for a part that ends the word after a match. */
function unknownParts(word: string, isKnown: Uint8Array): (readonly [part: string, isEnding: boolean])[] {
  const parts: (readonly [string, boolean])[] = []
  for (let start = 0, end = 0; start < word.length; start = end + 1) {
    end = start
    while (end < word.length && isKnown[end] === 0) end++
    if (end > start) parts.push([word.slice(start, end), start > 0 && end === word.length])
  }
  return parts
}

function isNeutralPart(part: string, isEnding: boolean): boolean {
  if (neutral.has(part) || /^\p{N}+$/u.test(part)) return true
  if (scriptWithoutSpaces.test(part)) return part.replace(neutralParts, '').length === 0
  return isEnding && part.length <= 3 && !reversingEndings.has(part)
}

/** Patterns of the names of consent columns, in the form of `nameWords`, and in many languages. */

// Patterns of opt-outs (`…Out`) and opt-ins (`…In`). `certain…`: the name alone is enough. `weak…`: the values must look like consent too.
// `flag…`: only cells such as `yes`, `no` or `Unsubscribed` are enough.
export const certainOut = anyOf(String.raw`
  unsub
  \bopt(?:ed)? ?out
  optout
  \bbounced?\b(?! ?rate)
  black ?list
  block ?list
  \bcleaned\b
  \bclean (?:time|campaign|date)
  suppress
  \bdo ?not (?!track|modify|edit)
  \bdonot
  \bn?dnc\b
  \bno bulk e ?mails?\b
  \bhardbounced?\b
  \b(?:lista ne(?:ra|gra)|liste noire|lista czarna|czarna lista|zwarte lijst|svart ?list|sort ?liste|musta lista|cerna listina|kara ?liste)
  kontaktverbot
  \bno molestar
  \bnon disturbare
  \bnao perturb
  \bnicht storen
  \bne pas deranger
  \bniet storen
  \bne plus (?:contacter|solliciter|envoyer|ecrire|appeler)
  \bplus de contact\b
  mailblokkade
  uitschrijfdatum
  \bblokada (?:mailing|newsletter|e ?mail|sms|marketing)
  \bzakaz kontakt
  \bdne\b
  complain
  \b(?:e ?mail|mail|marketing|newsletter|sms|contact|mailing)s? (?:disabled|suspended)
  \be ?mail(?: address)? quarantined
  \bglobally ineligible\b
  \bbounce ?backs?\b(?! (?:coupon|offer|voucher|code|promo|deal|reward|redemption)s?\b)
  \bno longer (?:to )?(?:be )?(?:contact|e ?mail|mail|call|text)
  \bdisabled? (?:e ?mail|mail|marketing|newsletter|sms|contact|mailing)
  \bno ?(?:e ?mail|mail|marketing|newsletter|sms|contact|mailing|ads|advertising|call|text|promo|solicit(?:ation)?)s?\b
  exclu\w* from (?:marketing|e ?mail|mailing)
  \binvalid e ?mail
  \bbad e ?mail
  \be ?mail bad\b
  \be ?mail(?: is)? invalid
  undeliverable
  consent (?:revoked|withdrawn|denied)
  (?:revoked|withdrawn) (?:consent|at|on)\b
  \bcease (?:and desist|contact|communications?|marketing)\b
  \bself ?exclusion\b
  \bgamstop\b
  \bobjected\b
  \bobjection to
  \bdnd\b
  widerruf
  widerspr
  abgemeldet
  abmeld
  abbestell
  werbesperr
  sperrvermerk
  keine werbung
  robinson
  desabonn
  \bdesuscri
  abonelikten
  desinscri
  \bfecha (?:de )?baja
  \bno contactar
  disiscri
  uitgeschreven
  uitschrijv
  afgemeld
  wypisa
  avregistr
  avprenumer
  afmeld
  avmeld
  descadastr
  \bstop ?(?:pub|contact\b|e ?mails?\b|mails?\b|mailings?\b|newsletters?\b|sms\b)
  liste rouge
  kontakta ej
  ikke kontakt(?:es?)?\b
  reklame?beskytt
  reklamsparr
  \bne(?:souhlas|suhlas|soglasj)
  leiratkoz
  dezabon
  werbeverbot
  \b(?:nicht|niet|non|nie|ne pas|no) (?:solliciter|demarcher|prospecter|inviare|enviar|wysy[lł]ac|senden|zusenden|sturen|versturen|kontaktieren|kontaktierbar|kontaktowac|contacter|contattare|contattabil\w*|contact opnemen|mailen|anschreiben|benaderen)
  \bne (?:souhaite|veut|desire) (?:plus|pas)\b
  \bkeine (?:e ?mails|mails|anrufe|sms)\b
  \bgeen (?:e ?mails?|mails?|mailings?|sms)\b
  \bpas de (?:e ?mails?|mails?|mailings?|sms|courriels?|sollicitations?)\b
  \bpas d (?:e ?mails?|appels?)\b
  \bwil geen\b
  \b(?:nej|nei) (?:tak|takk|tack)\b
  istemiyor
  huy đang ky
  \bnekontakt
  \bneposilat
  \bno (?:solicitar|quiere ser contactad)
  \bnao (?:contatar|contactar|enviar)
  # Cyrillic
  (?:черн(?:ыи|ом|ого)|чорн(?:ии|ому)) спис
  стоп ?лист
  запрет (?:звонк|контакт|связ|смс|sms)
  отпис
  не(?:соглас|съглас)
  незгод
  відпис
  не (?:беспокоить|звонить|писать|присылать|отправлять)
  не турбувати
  # Greek
  απεγγραφ
  # Chinese, Japanese, Korean
  フラックリスト
  配信ng
  黑名[单單]
  免打[扰擾]
  拒[绝絕](?:营销|行銷|推广|推廣)
  블랙 ?리스트
  取消(?:订阅|訂閱)
  退订
  退訂
  配信停止
  配信拒否
  (?:受信|配信|メール)(?:拒否|不可|不要|停止)
  案内不要
  拒收(?![货貨件金原次率单單数數])
  구독 ?(?:해지|안함)
  수신 ?거부
  구독 ?취소
  # other scripts
  الغاء الاشتراك
`)
export const weakOut = anyOf(String.raw`
  \bhard ?bounces\b
  \bnpai\b
  ^refus$
  \bausgetragen\b
  \baustrag(?:ungs|s)datum\b
  \bsparrad\b
  ^nix$
  ^wypis$
  \bdata wypisu\b
  ^(?:e ?mail )?on hold$
  ^withdrawal date$
  \blitigators?\b
  (?<!\b(?:tax|vat) )\bexclusion\b
  \bbanned\b
  sperrkennzeichen
  \bsperrkz\b
  \brestrict(?:ion|ed)? (?:of )?(?:data )?processing\b
  \blimit (?:the )?use of (?:my )?sensitive\b
  \bleft (?:the )?(?:mailing )?list\b
  ^is lat$
  \btracking (?:limited|disabled)\b
  \bbezwaar
  \bopposizion[ei]\b
  ^atsisak\w*$
  \bremove me\b
  \bdisabled?\b(?! auto)
  \bblocked\b
  \bspam\b
  gesperrt
  sperre
  opposition
  objection
  revoked
  withdrawn
  \bbaja\b
  reserv(?:ert|asjon)
  \bexcluded?\b
  undelivered
  unreachable
  \bccpa\b
  \bgpc\b
  global privacy control
  limit ad tracking
  \bdnm\b
  \berasure\b
  right to (?:be forgotten|object)
  \bshould forget\b
  forget me
  \bprocessing restricted\b
  \brevoc(?:a|ad[oa]|at[oa]|ation|acion|cion)\b
  ^(?:sprzeciw|rezygnacja|frameldt|odhlas(?:en|it)\w*|kielto)$
  # Chinese, Japanese, Korean
  停止フラク
  \bdm ?(?:不要|拒否)
`)
export const certainIn = anyOf(String.raw`
  \bopt(?:ed)? ?in\b
  optin
  \bdoi\b
  consent
  accepts? (?:e ?mail |sms |text |email )?(?:marketing|mail|e ?mail|newsletter|sms)
  newsletter
  \bsubscri(?:bed|ber status|be)\b
  subscription stat
  subscriber stat
  \bemail stat(?:us|e)\b
  marketing ?(?:ok|allowed|permission|permitted|accepted|agreed|agreement)
  permission to
  \b(?:e ?mail|mail|sms|contact|marketing|phone|call)s? (?:ok|allowed|permitted|enabled|permission)\b
  \b(?:allow|can|may|ok to|okay to)s? ?(?:we |us to )?(?:e ?mail|mail|sms|contact|market|call|text|be contacted)
  contactable
  emailable
  mailable
  mailing ?list
  gdpr
  dsgvo
  \brgpd\b
  \blgpd\b
  \blopd\b
  \brodo\b
  einwillig
  werbeerlaubnis
  werbezustimmung
  zustimmung
  rundbrief
  consentement
  infolettre
  lettre d information
  consentimiento
  suscri
  boletin
  consenso
  iscrizione newsletter
  toestemming
  nieuwsbrief
  \bzgod[ay]\b
  samty[ck]ke
  nyhetsbrev
  nyhedsbrev
  suostumus
  markkinointilupa
  uutiskirje
  bulten
  ileti izni
  pazarlama izni
  consentimento
  souhlas
  hozzajarul
  hirlevel
  consimtamant
  suhlas
  \bprivol[aeu]\b
  pristanak
  soglasj
  nousolek
  piekrisan
  sutikim
  persetujuan(?! (?:klaim|kredit|pinjaman))
  \bcasl\b
  \bdata processing basis\b
  \batt (?:status|permission|authori[sz]ation)\b
  \bapp tracking transparency\b
  \btc ?string\b
  \biab(?:tcf|gpp)
  \btcf\b
  \bgpp string\b
  naujienlaisk
  uudiskir
  butlleti
  samþykki
  # Cyrillic
  соглас
  подпис
  рассылк
  згод[аиу]
  съгласи
  підписк
  підписан
  розсил
  бюлетин
  # Greek
  συγκαταθεση
  συναινεση
  ενημερωτικο δελτιο
  # Chinese, Japanese, Korean
  ニュースレター
  電子報
  电子报
  メルマ[カガ]
  メールマカシン
  뉴스레터
  配信許可
  訂閱
  订阅
  수신 ?동의
  마케팅 ?동의
  # other scripts
  הסכמה
  موافق
  דיוור
  النشرة
`)
export const weakIn = anyOf(String.raw`
  marketing
  ^accord$
  \bpurposes? status\b
  \btcpa\b
  \b(?:e ?mail|mail|sms) erlaubt\b
  \bpartner offers\b
  \boffres (?:des )?partenaires\b
  \bpermite contac?t
  \baccepts?\b
  \b(?:legal|lawful) bas[ie]s\b
  rechtsgrundlage
  \bbase (?:legale?|juridica|juridique|giuridica)\b
  \bthird party sharing\b
  \btracking (?:enabled|allowed)\b
  \b(?:ads?|advertising|targeting) (?:cookies?|storage)\b
  ^cookies?$
  \be ?mail ?confirmation ?status\b
  \bad user data\b
  \bprenumer
  \bwerbe(?:kennzeichen|ansprache| ok\b| opt\b)
  \bdarf (?:\w+ )*(?:angeschrieben|kontaktiert|angerufen|beworben)
  \bmag (?:\w+ )?(?:mailen|gemaild|benaderd|bellen|gebeld)
  \b(?:contacto|correo) (?:permitido|autorizado)
  comunicaciones comerciales
  comunicazioni commerciali
  comunicacoes comerciais
  agreed?\b
  \ballow(?:s|ed)?\b
  privacy
  permission
  subscription
  werbung
  erlaubnis
  angemeldet
  abonn
  inscri(?:t|ption)
  prospection
  publicit
  acepta
  autoriz
  permiso
  iscritt
  accetta
  consens
  ingeschreven
  aangemeld
  akkoord
  subskryp
  zapisan
  godkann
  tilmeldt
  \bizin\b
  \bonay
  abone
  aceita
  \bacord\b
  abonat
  (?<!\b(?:yıllık|dogum|calısma|oturma) )\bizni\b
  datenschutz
  \bkvkk\b
  privacidad
  confidentialite
  protection des donnees
  proteccion de datos
  rundschreiben
  infomail
  infobrief
  \baccepte\b
  subscrit
  inscricao
  publicidad
  pubblicita
  markkinoi
  \biys\b
  ticari ileti
  berlangganan
  baimen
  đong y
  nhan (?:ban )?(?:tin|e ?mail)
  \bodber (?:novinek|newsletteru?|obchodnich)
  \btilladelse\b
  \b(?:e ?mail|mailing|newsletter|contact) frequency$
  \bads? personali[sz]ation\b
  \be ?novice\b
  \bopt(?:ed)? (?:status|flag|state)$
  ^(?:(?:em|e ?mail|mktg?|global) )?opt(?:ed)?$
  \bmktg? (?:perm\w*|opt\w*|ok|flag|allowed)\b
  \bpromo(?:tion)?s?\b
  \bmailings?\b
  \bcommunications?\b
  \bstatus abonnement
  \b(?:e ?mail|mail|marketing|sms) (?:opt|pref(?:erence)?s?)\b
  \bpref(?:erence)?s? (?:e ?mail|mail|marketing|sms)\b
  # Chinese, Japanese, Korean
  連絡(?:可否|許可)
  配信(?:希望|可否)
  接受(?:营销|行銷|推广|推廣)
  受信(?:可否|許可)
  メール(?:配信|受信|送信)
  案内メール
  \bdm ?(?:可否|送付|発送|希望|配信)
  许可(?!证)
  接收(?:邮件|郵件|短信|信息|通知)
  수신 ?여부
  ^구독(?: |$)
  구독 여부
  (?:이?메일|문자|sms|광고) ?수신
  同意
  許可
  동의
  광고 ?수신
  (?:营销|行銷|推广|推廣).*(?:邮件|郵件|短信|簡訊|信息)
  # other scripts
  รบขาว
  सहमत
  ยนยอม
`)
/** Negation at the start of a name, before words of an opt-in: `Kein Newsletter`. */
export const leadingNegation =
  /^(?:no|not|never|kein\w*|ohne|pas d[eu]?|sans|sin|senza|geen|ingen|inga|bez|brak|non|nie|niet|nicht|ne|nej til|nei til|nej tack till|ilman|ei|nem|без|не|нет) /
/** Words that may reverse an opt-out elsewhere in the name: `Not unsubscribed`, `Kein Widerspruch`, `Opt-out lifted`. */
export const notOptedOut =
  /\b(?:no|not|non|never|un|zero|without|off|undo(?:ne)?|lifted|cleared|removed|ended|expired|rejected|declined|refused|inactive|disabled|revers\w*|reset|revoked|rescinded|withdrawn|cancel\w*|reinstat\w*|reactivat\w*|resubscri\w*|nicht|nie|niemals|kein\w*|ohne|aufgehoben|beendet|abgelaufen|abgelehnt|entfernt|zuruck\w*|geloscht|storniert|pas|jamais|sans|levee?|retiree?|annul\w*|sin|nunca|anulad[oa]|retirad[oa]|senza|mai|revocat[oa]|ritirat[oa]|sem|nao|niet|nooit|geen|zonder|opgeheven|ingetrokken|ej|inte|ingen|inga|inget|ikke|ikkje|aldrig|aldri|uden|uten|utan|ei|bez|brak|cofni\w*|ne|nem|nu|fara)\b|(?:^| )(?:не|нет|без|ні|снят[ао]?)(?: |$)/
/** A yes at the start of a sentence, and words of a right to opt out later: `Ja, Newsletter bitte (Abmeldung jederzeit möglich)`. */
export const inSentence = anyOf(String.raw`
  \b(?:i|we) (?:agree|consent|accept|want|wish)
  \bany ?time\b
  \bcan (?:i|you|be)\b
  \b(?:i|you) (?:can|may)\b
  jederzeit
  moglich
  abbestellbar
  widerrufbar
  (?:tout|n importe quel) moment
  \bpossible\b
  (?:cualquier|qualquer|qualsiasi|ogni|elk) (?:momento|moment)
  \bposible\b
  possibil[ei]
  op elk moment
  mogelijk
  kazdej chwili
  mozliw
  nar som helst
  mulig
  mojlig
  milloin tahansa
  kdykoli
  barmikor
  oricand
  istedig
  # Cyrillic
  любо[еи] (?:момент|время)
  # Chinese, Japanese, Korean
  ^(?:yes|ja|oui|si|sim|tak|ano|igen|kylla|evet|да|так|はい|是的?|예|네|ναι)[ ]
  いつ[でて]も
  随时
  隨時
  언제든
`)
/** Words for the end of a consent anywhere in a name: `Newsletter cancelled at`. */
export const endWords =
  /\b(?:not (?:renewed|paid)|declin\w*|refus\w*|reject\w*|cancel\w*|stop(?:ped)?|ended|expired|terminated|denied|blocked|removed|gekundigt|abgelehnt|verweigert|resili\w*|rechaz\w*|rifiut\w*|geweigerd|opgezegd)\b/
/** Words that make the meaning of `endWords` or `not` unclear: `Newsletter (confirmed or not)`, `Promo stopped`. */
export const alternativeWords =
  /\b(?:promo(?:tion)?s?|or|and|oder|und|ou|et|yes|ja|oui|if|unless|until|wenn|active|aktiv|accepted|confirmed|given|granted|agreed|allowed|approved|erteilt)\b/
/** Names of advertising. With a word of `endWords`, they mean an opt-out, not the end of an order: `Marketing declined at`. */
export const advertisingName =
  /^(?:e ?mail|sms|newsletter) subscription$|^(?:(?:e ?mail|sms|direct) )?(?:marketing|mailings?|werbung|publicite|publicidad|prospection|communications?)(?: (?:e ?mails?|mailings?|communications?))?(?: (?:le|am|el|op))?$/
/** Names of opt-outs of any kind, also from contracts and events. */
export const flagOut = /rezygnac|sprzeciw|frameld|odhlas(?!ov)|kielto\b|\bodjav(?:a|e|ljen\w*)\b/
/** Words that mean an opt-out only beside a word of an opt-in. `Nicht kontaktiert seit` alone is about a call. */
export const notContactedWords = /\b(?:nicht|niet|non|nie|ne pas|ikke) (?:kontakt|contact|contatt)/
/** Words for messages and personal data. A name with one of them and one of `flagOut` is an opt-out, for example `Odhlášen z SMS`. */
export const messageOrDataWords =
  /newslet|nyhe[dt]s|market|markkin|mail|sms|posti|kirje|viesti|soitto|puhelin|yhtey|mainos|reklam|sdelen|rozesil|zasiel|odber|odebir|handlow|\brodo\b|przetwarz|zgod|^frameldt dato$/
/**
 * Words for a later end of a consent, for a request for consent, and for a message. A yes or a date in such a column does not mean that the
 * person consents: `consent_until`, `double_opt_in_sent_at`, `Newsletter opened`.
 */
export const otherMeaningWords =
  /\b(?:until|till|expir(?:y|es|ation)|ends?|valid (?:to|thru|through)|bis|jusqu\w*|hasta|vence\w*|vencim\w*|caduc\w*|scad\w*|fino|verval\w*|geldig tot|wazn\w* do|platn\w* do|gyldig til|giltig till|utlop\w*|sent|asked|pending|invit\w*|reminders?|open(?:s|ed)?|click(?:s|ed)?)\b|\b(?:opt in|optin|doi|consent|permission|confirmation) (?:e ?mail )?request(?:s|ed)?\b|\blast (?:newsletter|mailing)\b/
/** Words that may reverse an opt-in, in many languages: `Newsletter revoked`, `Opt-in widerrufen`, `Consentement retiré`. */
export const reversingWords = anyOf(String.raw`
  revok
  revoc
  revoq
  withdr
  object
  oppos
  \binacti[fv]
  inaktiv
  gesperr
  sperre
  \bexclu(?!siv)
  invalid
  delet
  suspend
  paus
  \boff\b
  spam
  bounces
  \bbaja\b
  \bretir
  ablauf
  abgelauf
  beend
  \bgelosch
  loschung
  entfernt
  desactiv
  deaktiv
  deactiv
  disabl
  annul(?!ar)
  elimin
  ingetrok
  beeindig
  gestopt
  uitgezet
  wycof
  cofnie
  odwo[lł]
  \bretras
  anulow
  aterkall
  avslut
  trukket
  tilbage
  tilbake
  perut
  peruut
  odvol
  zrus
  visszav
  lemond
  iptal
  geri cek
  \blaps
  \bvoid
  \bmuted?\b
  \bleft\b
  \bleav
  \bquit
  forbid
  prohib
  \bbann?(?:ed)?\b
  negativ
  \bnone\b
  \blost\b
  missing
  \bfail
  \beras(?:ed|ure)
  anonymi[sz]
  \bforgot
  restrict
  \bart(?:icle|ikel)? (?:1[5-8]|2[0-2])\b
  \bdropped
  churn
  archiv
  terminat
  remov
  # Cyrillic
  отозв
  отмен
  отказ
`)
/**
 * More words of a refusal, in many languages. A name with one of them does not say what a yes means: `Consenso negato`, `メルマガ停止`.
 * `\b` knows only Latin letters without accents, so words of other scripts have spaces instead.
 */
export const refusalWords = new RegExp(
  [
    String.raw`\bun(?:willing|wanted|wished|desired|interested)|\b(?:do|does|did|wo|is|has|are|was|ca)n t\b|\b(?:dont|doesnt|didnt|wont|cant|without|lack(?:s|ing)?|hates?|opt down|no longer|against|nothing|zero)\b|rescind|\bden(?:y|ies|ial)\b|prevent|cease|abandon|repeal|withh[eo]ld`,
    String.raw`zuruck(?:gez|gen|zieh)|\bfehl|unerwunscht|\b(?:kein(?:e[nmrs]?)?|nicht|nie|ohne)\b|storn|austrag|ausgetrag|ausgeschl|ausschluss|ablehn|verweiger|untersag|verbot|verbiet|entzogen|erloschen|kundig`,
    String.raw`\b(?:zonder|geen|niet|nooit)\b|weiger|stopgezet|bezwaar|\bretrait|\b(?:sans|pas|jamais)\b|anul|\bden(?:eg|ieg)|\b(?:sin|senza|sem|nao|non|nunca|mai)\b|revog|recus|\bneg(?:a|ad[oa]|at[oa])\b|cessat|\bdesuscri`,
    String.raw`\b(?:ej|inte|inget|ingen|inga|ikke|ikkje|uden|uten|utan|aldrig|aldri)\b|avboj|sagt (?:upp|op|opp)|uppsag|opsag|oppsag|frabe|nekt|nægt|afvis|avvis|avslag|\bperun|\bkielt|\b(?:ei|eivat|ilman)\b|hætt|hafna|afskr`,
    String.raw`abonelikten|\byok\b|vermed|vermez|\bredd?\b|reddet|istem|cekil|kaldır|\bcık|ayrıl|degil`,
    String.raw`\b(?:bez|brez|ne|nie|brak|nu|fara|nem|nelkul|nera)\b|odmi[te]|odmow|odmaw|odrzuc|odbi(?!or)|zavrn|zami[te]|nechc|nechteji|nepreje|neprij|cofn|rezygn|povuc|preklic|opozv|opoziv|uskra|elutasit|letilt|tilt(?:va|as|ott)|refuz|respin`,
    String.raw`atsisak|atsauk|\bbe sutik|nesutik|nepageid|atteik|nepiek|tuhist|\bilma\b|loobu|keeld|\b(?:tidak|tanpa|jangan|batal|berhenti)\b|tolak|menolak|\btarik|\b(?:tu choi|huy|khong|ngung|sense|gabe|ez)\b|rebutj|ukatu`,
    '(?:^| )(?:не|нет|без|ні|нема[єе]?) |отзыв|исключ|запре|прекращ|удал|снят|відмов|заборон|відклик|скасов|виключ|видал|оттегл',
    '(?:^| )(?:δεν|χωρις|οχι|μη) |διαγραφ|απεγγραφ|ανακλη|αρνη|απορρι|εξαιρε|(?:^| )(?:לא|ללא|בלי) |הסר|הוסר|ביטול|בוטל|סירוב|מסרב|חסום|(?:^| )(?:لا|غير|ليس|عدم|بدون) |الغاء|سحب|رفض|حذف|حظر|ايقاف',
    '[不未拒停退無无]|取消|解除|なし|しない|中止|キャンセル|철회|거부|거절|해지|취소|중지|차단|안함|않|미(?:동의|수신)|ไม|ปฏเสธ|ถอน|ยกเลก|असहमत|नह|इनकार',
  ].join('|'),
)
/** Vague names of opt-ins. */
export const flagIn = anyOf(String.raw`
  ^(?:(?:e ?mail|sms|special|exclusive|partner|product) )?(?:e ?mails?|e ?mailings?|mails?|contact|kontakt|sms|texts?|calls?|ads?|offers?|deals|news|updates|solicit(?:ation)?)(?: (?:flag|ind|ok|yn|y n|yes no))?$
  ^avg$
  ^(?:e ?mail|text|call) me\b
  ^nl(?: (?:empf\w*|abo|ok|status))?$
  ^mktg?\b
  ^dm$
  \bhear from us\b
  \bkeep me (?:updated|posted)\b
  \b(?:stay|keep) in touch\b
  \b(?:invio|envio|envoi) (?:d[ei] )?(?:e ?mails?|newsletter|sms)\b
  \bcesion de datos\b
  \b(?:e ?mail|sms|text|promo\w*) notifications?\b
  \bnotifications? (?:e ?mail|sms)\b
  \bsell (?:\w+ )?(?:data|info\w*)\b
  \bshare (?:\w+ )?info\w*\b
  \bsubscriber$
  \boffres\b
  ^partenaires$
  \b(?:recevoir|recoit|recib(?:e|ir)|receb(?:e|er)|ricev(?:e|ere))\b
  \bofertas\b
  \bofferte\b
  \breclame\b
  \breklam[ae]?\b
  \butskick\b
  \bzasil(?:at|ani)\b
  \bnovinky\b
  obavijest
  pretplat
  \bjaunumi\b
  postlisti
  ^(?:contact|kontakt|reach)(?: me)? (?:by|via|per)[ ]
  \b(?:sends?|receives?|receiving|wants?|gets?|likes?|interested in) (?:\w+ ){0,4}(?:e ?mails?|mails?|news|offers|promotions?|ads|updates|sms|texts)\b
  \bbe (?:contacted|e ?mailed|mailed|texted)\b
  \b(?:ads?|advertising|advertisement|audience|targeting|kontakt) (?:ok|allowed|permitted|enabled|permission|erlaubt)\b
  \badvertis(?:ing|ements?)\b
  \bpersonali[sz](?:ed|ation)\b
  \bprofiling\b
  \bretargeting\b
  \breachable\b
  \bmarketable\b
  \bkontaktierbar\b
  \berreichbar\b
  \bthird part(?:y|ies)\b
  \bdata sharing\b
  \bshar(?:e|es|ing) (?:\w+ )?data\b
  \bkeep (?:me )?informed\b
  (?<!auftrags|bestell|druck|kredit|liefer|rechnungs|versand|zahlungs)freigabe\b
  \b(?:daten)?weitergabe\b
  datennutzung
  \bautoris(?:e|ation)\b
  profilazione
  \btrattamento dati\b
  \bcessione a terzi\b
  \bcesion a terceros\b
  \bshar(?:e|es|ing) with (?:\w+ )?(?:partners?|third part)
  # Cyrillic
  реклам
  (?:^| )получать(?: |$)
  абонамент
`)
/** Words before and after `deleted` in names of deleted records: `_fivetran_deleted`, `is_deleted`, `Account deleted at`. */
const beforeDeleted =
  '(?:(?:is|was|soft|record|row|contact|customer|account|user|profile|person|member|data|date|fivetran|cdc|sdc|ab cdc|flag|ist|konto|kontakt|est|compte|esta|cuenta) )*'
const afterDeleted =
  '(?: (?:flag|status|account|contact|customer|record|user|on|at|date|datetime|time|timestamp|ts|am|le|el|il|op|from list|from mailing list))*'
/** Words for relatives and pets. */
export const relativeWords = String.raw`\b(?:spouse|parent|father|mother|husband|wife|child|pet|animal|dog|horse)s?\b`
/** Words of names about other members of a household, numbers or prices: `Children under 12`. */
const aboutHousehold = String.raw`\b(?:children|kids|sons|daughters|dependents?|household|family|kinder|enfants|hijos|filhos|figli|number|anzahl|count|price|seats?)\b`
/** Names of deleted records, deletion requests, closed accounts, minors and dead people (`ConsentName.needsYes`). */
export const recordEndedName = new RegExp(
  [
    `^${beforeDeleted}(?:deleted|anonymi[sz]ed|erased|forgotten|removed|purged|redacted|discarded|geloscht|geloescht|anonymisiert|anonymisee?|efface|supprimee?|eliminad[oa]|borrad[oa]|anonimizad[oa]|cancellat[oa]|eliminat[oa]|verwijderd|geanonimiseerd|usuniet[yae]|raderad|slettet|poistettu|smazan[oay]?|vymazan[oay]?)${afterDeleted}$`,
    String.raw`^(?:account|acct|profile|konto|compte|cuenta) (?:is )?(?:closed|geschlossen|clos|ferme|cerrada)${afterDeleted}$`,
    String.raw`^closed account|\bin (?:the )?trash\b|^trashed\b`,
    String.raw`^(?!.*(?:${aboutHousehold})).*(?:\bunder ?(?:1[0-8]|aged?)\b|minderjahrig|\bmineure?$|\bmenor de (?:edad|idade)\b|\bminorenne\b)`,
    '^(?:is )?(?:a )?minor$|^is (?:a )?(?:child|kid)$|^(?:child|kids?) (?:account|profile)$',
    String.raw`\b(?:deletion|erasure|delete)(?: \w+)? request(?:ed|s)?\b|\brequest(?:ed|s)?(?: \w+)? (?:deletion|erasure)\b`,
    String.raw`\b(?:marked|scheduled|flagged|pending)(?: for| to be)? (?:deletion|erasure|deleted|erased|anonymi[sz]ation)\b|\bto be (?:deleted|erased|anonymi[sz]ed)\b`,
    String.raw`\blo(?:e)?sch(?:kennzeichen|vermerk|antrag|anfrage|datum|kz|flag)|\bzu lo(?:e)?schen\b|\bloevm\b|\bxblck\b|\bxdele\b|\bxdead\b|^not released$`,
    String.raw`^(?!.*${relativeWords}).*\b(?:deceased|verstorben|decedee?|fallecid[oa]|decedut[oa]|overleden|avliden|avdød|afdød|zmar[lł][ya]|zesnuly|falecid[oa]|kuollut|elhunyt)\b`,
    String.raw`^(?:date ?of ?death|death ?date|(?:passed away|died)(?: on| at| date)?|sterbe(?:datum|tag)|todes(?:datum|tag)|gestorben(?: am)?|date (?:de |du )?deces|fecha (?:de )?(?:fallecimiento|defuncion)|data (?:di |del )?decesso|overlijdensdatum|datum overlijden|data (?:do )?obito|dods(?:datum|dag)|dødsdato|data zgonu|datum umrti|дата смерти|(?:умер|умерла|удален[ао]?|silindi)(?: .*)?)$`,
    '退会(?:日|フラグ|済|年月日|状態)|削除(?:フラグ|済|日)|^탈퇴$|탈퇴(?: ?(?:여부|일|일자))|^已?(?:注销|註銷)(?:时间|日期|状态)?$|死亡(?:日|フラグ)',
  ].join('|'),
)
/** Names of the public lists of people who do not want calls (TPS, CTPS, Bloctel) or letters (MPS). */
export const registerName =
  /^(?:mps|bloctel)$|^(?:c?tps(?: c?tps)?|mps|bloctel) (?:registered|listed|match|matched|check|checked|flag|status|screened|opt ?out)$|^tps ctps$|^(?:on|in|is on) (?:the )?(?:c?tps|mps|bloctel)(?: (?:list|register))?$|\b(?:telephone|mailing) preference service\b|\bbel me niet\b|\bregistro (?:pubblico )?(?:delle )?opposizioni\b|\becg liste\b|\bnix (?:telefon|sparr|registret)\b/
export const phoneChannel =
  /\b(?:c?tps|bloctel|bel me niet|opposizioni|nix|sms|text|texts|texting|calls?|phones?|tel|telephone|telefon\w*|telefoni\w*|mobile?|whats ?app|mms|viber|voice|anruf\w*|appels?|llamad\w*)\b|電話|전화|短信/
export const otherChannel =
  /\b(?:mps|mailing preference service|push|postal|post|fax|letters?|briefpost|direct mail|courier|courrier|in ?app|web ?push|poste?werbung|physical mail)\b/
export const emailChannel = /e ?mail|\bmails?\b|newsletter|courriel|correo/
export const paperMail = /\b(?:postal|direct|physical|bulk|snail) mails?\b/g
/** Words of `attributeName` that may also end a question about consent: `OK to text this number`. Such names are as vague as `flagIn`. */
export const questionEnd = /\b(?:numbers?|provider|form|page|campaigns)$/
/**
 * Names of attributes of a consent, such as its source, IP address or number of campaigns, but not `Unsubscribed from campaigns` and
 * `unsubscribedChannelIds`. Dates and reasons are not among them: see `isDetailOf`.
 */
export const attributeName =
  /\b(?:ip|id|source|sources|method|campaign|url|link|links|token|key|hash|text|wording|version|rate|count|counts|total|number|score|page|form|language|locale|provider|plan|price|amount|cost|budget|(?<!any )channel|owner|region|city|street|state|country|zip|interests?|(?<!(?:unsub|receiv|opted ?out|do ?not\b).*)(?:campaigns|ids))$|\bcampaign\b|^(?:utm|total|number of)\b/

/**
 * Returns a pattern that matches any of the alternatives. `lines`: an alternative on each line, without the spaces around it. Lines that
 * begin with `#` are comments. One alternative on a line shows in a diff what changed.
 */
function anyOf(lines: string): RegExp {
  const alternatives = lines
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  return new RegExp(alternatives.join('|'))
}

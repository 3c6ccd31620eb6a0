/** Classifies the words that cells of exports contain for consent and opt-out, in more than 20 languages. Pure. */
import { foldedText, trimText } from '../text.ts'

/**
 * Meaning of a cell. `in`: the person may be reached. `out`: the person may not be reached. `yes`, `no`: the name of the column decides,
 * because a yes in an opt-out column means `out`. `empty`: no value, or a placeholder such as `n/a`. Undefined: not known.
 */
export type Meaning = 'yes' | 'no' | 'in' | 'out' | 'empty' | undefined

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.split(','))

// `o` and `e` are not in the list: `O` is yes (`oui`) in French, but means opt-out beside the code `I`. `E` is yes in Turkish and no in
// Finnish. `proposeTest` classifies them by the other values of the column.
const yes = wordsOf(
  'y,yes,true,t,1,x,on,ok,okay,checked,✓,✔,☑,✅,ja,j,wahr,oui,vrai,si,sì,sí,s,verdadero,vero,sim,verdadeiro,waar,da,да,evet,doğru,tak,prawda,ano,igen,kyllä,sant,sand,はい,是,예,네,ναι,نعم,כן,taip,jā,jah,já,так,ya,có,हाँ,हां,ใช่,bai',
)
const no = wordsOf(
  'n,no,false,f,0,off,unchecked,✗,✘,☐,nein,falsch,non,faux,falso,não,nao,nee,onwaar,nu,нет,hayır,hayir,h,yanlış,nie,fałsz,ne,nem,ei,nej,nei,falskt,usant,falsk,いいえ,否,아니오,아니요,όχι,لا,לא,nē,ні,tidak,không,नहीं,ไม่,ez',
)
const empty = wordsOf(
  ',null,(null),none,nil,n/a,na,#n/a,nan,-,--,—,[],{},undefined,not set,(not set),empty,0000-00-00,0000-00-00 00:00:00,keine,aucun,aucune,ninguno,nessuno',
)

/** Words that mean `in`, in a column of any name. */
const subscribed = wordsOf(
  'subscribed,subscriber,active subscriber,opted in,opt in,optin,double opt in,consented,consent given,granted,consent granted,permission granted,email subscribed,marketing contact,emailable,mailable,' +
    'abonniert,angemeldet,eingewilligt,zugestimmt,abonné,abonnée,abonne,inscrit,inscrite,suscrito,suscrita,suscripto,iscritto,iscritta,inscrito,inscrita,ingeschreven,aangemeld,geabonneerd,zapisany,subskrybuje,prenumererar,prenumerant,tilmeldt,påmeldt,abonnerer,tilaaja,tilannut,abone,подписан,подписана,подписчик,přihlášen,odebírá,feliratkozott,abonat,εγγεγραμμένος,購読中,订阅,已订阅,구독',
)
/** US privacy strings of people who opted out of the sale of their data: `1YYN`, `1YY-`. */
const usPrivacyOptOut = /^1[yn-]y[yn-]$/
/** Words for dead people, which mean `out` too. */
const deceased = wordsOf(
  'deceased,verstorben,décédé,décédée,fallecido,fallecida,deceduto,deceduta,overleden,avliden,avdød,afdød,zmarły,zmarła,falecido,falecida,kuollut',
)
/** Words that mean `out`, in a column of any name. */
const unsubscribed = wordsOf(
  'unsubscribed,unsubscribe,unsub,optedout,donotcontact,donotemail,donotcall,donotmail,donotphone,donottext,donotsolicit,hardbounced,hardbounce,softbounced,softbounce,ispcomplained,not subscribed,non subscribed,nonsubscribed,never subscribed,globally unsubscribed,unsubscribed (self),unsubscribed (admin),opted out,opt out,optout,global opt out,bounced,bounce,hard bounce,hard bounced,soft bounce,soft bounced,cleaned,blacklisted,blocklisted,blocked for email,suppressed,complained,complaint,complainer,spam complaint,spam report,marked as spam,reported spam,abuse,do not contact,do not email,do not mail,do not call,do not phone,do not text,do not solicit,do not market,do not allow,do not send,non marketing contact,no marketing,no mailings,gdpr deleted,gdpr erased,on hold opt out,on hold bounce,consent withdrawn,consent revoked,no consent,consent denied,not consented,undeliverable,' +
    'abgemeldet,abbestellt,ausgetragen,nicht abonniert,widerrufen,widersprochen,keine werbung,désabonné,désabonnée,desabonne,désinscrit,désinscrite,desinscrit,non abonné,non inscrit,dado de baja,dada de baja,desuscrito,no suscrito,cancelado por el usuario,disiscritto,disiscritta,non iscritto,descadastrado,não inscrito,uitgeschreven,afgemeld,wypisany,wypisana,niesubskrybuje,avregistrerad,avprenumererad,avslutad prenumeration,afmeldt,avmeldt,peruutettu,abonelikten çıktı,abonelikten çıkmış,отписан,отписался,отписалась,odhlášen,leiratkozott,dezabonat,退订,已退订,退会,配信停止,수신거부,구독취소',
)
/** Words that mean `out` in a column such as `account_status`, but not in a column of any name. */
const deleted = wordsOf(
  'deleted,soft deleted,erased,anonymized,anonymised,gelöscht,supprimé,eliminado,borrado,eliminato,cancellato,verwijderd,usunięty,slettet,raderad',
)
/** Words that mean `out` as a whole cell, but are usual tags of products, topics or tickets. */
const usualTags = wordsOf('abuse,bounce,cleaned,complaint,suppressed')
/** Words of cells that say that no choice is known: `No preference`, `Not specified`, `Keine Angabe`. */
const noChoice =
  /^(?:unknown|pending|waiting|invalid|unspecified|undefined|unset|unassigned|unanswered|unselected)$|^(?:no|not|none|non|kein\p{L}*|nicht)[ ,]+(?:[\p{L}]+ )?(?:preferences?|preferred|preference given|specified|set|stated|given|known|applicable|available|provided|selected|chosen|answered|recorded|entered|defined|angaben?|angegeben|bekannt|präferenz(?:en)?|renseigné|préférence|spécifié|précisé)(?: (?:given|stated|set|specified|selected|provided))?$/u
/** Words for the state of a request, such as one to delete the data of a person. */
const requestStates = wordsOf(
  'pending,waiting,requested,request,open,received,submitted,scheduled,in progress,in process,processing,processed,approved,confirmed,accepted,completed,complete,done,finished',
)
/** Words that mean `out` in a consent column, but not in a column of any name. */
const weakOut = wordsOf(
  'out,inactive,disabled,denied,deny,decline,reject,refuse,objected,opposed,cancelled,canceled,removed,stop,stopped,declined,rejected,refused,revoked,withdrawn,expired,invalid,blocked,not given,not granted,not confirmed,unconfirmed,pending,waiting,transactional,transactional only,service only,essential,essential only,necessary,necessary only,strictly necessary,required only,minimal,partial,never,unknown,junk,spam,deleted,anonymized,anonymised,archived,not allowed,forbidden,disallowed,disagree,disagreed,not agreed,abgelehnt,verweigert,inaktiv,gesperrt,unbestätigt,ausstehend,nicht erteilt,refusé,refus,opposé,opposée,oppose,opposition,inactif,en attente,bloqué,rechazado,inactivo,pendiente,rifiutato,inattivo,in attesa,recusado,inativo,geweigerd,inactief,geen toestemming,odrzucony,brak zgody,nekad,nægtet,reddedildi,pasif,отказ,ret,restricted,held,hold,on hold,temp hold,suspended,quarantined,ineligible,redacted,kielletty,希望しない,受け取らない,受信しない,配信しない,受信拒否,不可,미수신,不要,不同意,拒否,拒绝,거부,미동의',
)
/** Words that mean `in` in a consent column, but not in a column of any name. */
const weakIn = wordsOf(
  'in,active,enabled,send,confirmed,accepted,accept,agreed,agree,allowed,allow,approved,given,valid,verified,registered,email,e mail,newsletter,single opt in,marketing,erteilt,aktiv,bestätigt,erlaubt,akzeptiert,actif,confirmé,accepté,autorisé,accordé,activo,confirmado,aceptado,autorizado,attivo,confermato,accettato,ativo,aceito,actief,bevestigd,toegestaan,akkoord,aktywny,zgoda,wyrażono zgodę,godkänd,aktív,samtykket,onaylı,onaylandı,aktif,согласен,согласна,согласие,onay,authorized,authorised,sallittu,希望する,希望,受け取る,受信する,配信する,可,수신,同意,允许,동의',
)

/** Maximum number of characters of a trimmed cell that are read. More than 40, because folding removes invisible characters and spaces. */
const maxCellLength = 120

/** Returns the cell by `foldedText`, in lower case, cut at `maxCellLength` characters. */
function folded(cell: string): string {
  return foldedText(trimText(cell).slice(0, maxCellLength)).toLowerCase()
}

/** Replaces each run of spaces, `_` and `-` in a folded cell by one space. */
function withSpaces(text: string): string {
  return text.replace(/[\s_-]+/g, ' ').trim()
}

/** Returns the meaning that a whole cell has in any column. Undefined if no list has its text, or for over 40 characters. */
export function meaningOf(cell: string): Meaning {
  const text = folded(cell)
  if (text.length > 40) return undefined
  // Programs write flags with one decimal as soon as one cell of the column is empty. `0.00` is an amount.
  const flagText = text.replace(/^([01])\.0$/, '$1')
  if (empty.has(flagText)) return 'empty'
  if (yes.has(flagText)) return 'yes'
  if (no.has(flagText)) return 'no'
  const word = withSpaces(text)
  if (unsubscribed.has(word) || deceased.has(word) || usPrivacyOptOut.test(text)) return 'out'
  return subscribed.has(word) ? 'in' : undefined
}

/** Returns true for `O` and `E`, which mean yes in some exports and no in others. */
export function isDoubtfulYes(cell: string): boolean {
  return /^[oe]$/i.test(folded(cell))
}

/** Words of permission, which show that a column with a vague name such as `ads` is about consent. */
const permissions = wordsOf(
  'allow,allowed,deny,denied,not allowed,disallowed,granted,permitted,not permitted,forbidden,enabled,disabled,erlaubt,verweigert,autorisé,refusé,autorizado,denegado,consentito,negato,toegestaan,geweigerd,可,不可',
)

/** Returns true for cells such as `allowed` and `denied`. */
export function isPermission(cell: string): boolean {
  return permissions.has(withSpaces(folded(cell)))
}

/** Returns true for cells such as `yes`, `no`, `1`, `0` and `nein`. */
export function isYesOrNo(cell: string): boolean {
  const meaning = meaningOf(cell)
  return meaning === 'yes' || meaning === 'no'
}

/** Returns the meaning of a whole cell in a consent column. Knows more words than `meaningOf`; `not …` means `out`. */
export function consentMeaning(cell: string): Meaning {
  const meaning = meaningOf(cell)
  if (meaning !== undefined) return meaning
  const word = withSpaces(folded(cell))
  // `un` as in `unverified` and `uninterested`, but not as in `unique` or `United Kingdom`.
  if (
    weakOut.has(word) ||
    /^(?:un(?!i(?![dn]))|(?:non|not|no|never|do not|does not|don[’']?t|doesn[’']?t|nein|nicht|pas)[ ,;.:!]|kein)/.test(word)
  )
    return 'out'
  return weakIn.has(word) ? 'in' : undefined
}

const negation =
  /(?<!\p{L})(?:no|not|never|pending|awaiting|waiting|unconfirmed|unverified|unknown|ausstehend|attente|pendiente|attesa|pendente|cannot|\p{L}+n['’]t|dont|wont|cant|doesnt|without|disagre\p{L}*|disallow\p{L}*|nein|nicht|nie|kein\p{L}*|ohne|non|ne|pas|jamais|sans|sin|não|nao|senza|nee|niet|geen|nej|nei|ikke|inte|ej|ei|nem|nu|ni|nē|nesouhlas\p{L}*|nesúhlas\p{L}*|nechc\p{L}*|nepřeji|nepiekr\p{L}*|nesutink\p{L}*|нет|не|ні|hayır|değil|όχι|δεν|لا|לא|tidak|không)(?!\p{L})|^(?:不|未|无|無|否|拒|ไม่|नहीं|미동의|비동의|미수신|안함)|ない$|ません|거부|않|아니|m[iuıü]yorum$/u

/**
 * Returns true if the cell may mean no in a column of consent, although no list has it: `I do not agree`, `Nee, bedankt`, `同意しない`.
 * Some of these cells mean yes. Use it only to leave values out of a list of those that pass.
 */
export function mayMeanNo(cell: string): boolean {
  return negation.test(folded(cell))
}

export function isCheckMark(cell: string): boolean {
  return /^[✓✔☑✅]$/u.test(folded(cell))
}

// Fast filter before the exact comparison. Index: length of a word (at most 47) times 256, plus the low byte of its first character. Value
// 1: a word of the lists, or a US privacy string, has this length and first character, in lower or upper case.
const startsLikeState = new Uint8Array(48 * 256)
for (const word of [...subscribed, ...unsubscribed, ...deceased, '1yyn'])
  for (const spelling of [word, word.toUpperCase()]) startsLikeState[word.length * 256 + (spelling.charCodeAt(0) & 255)] = 1

// Matches cells with repeated spaces or with combining, invisible or full-width characters. Folding may change their length or first
// character, so the fast filter would miss them.
const changesWhenFolded =
  /[\s_-]{2}|[\u0300-\u036f]|[\ufe00-\ufe0f]|[\u180b-\u180f]|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uff01-\uff5e]/

/** Returns true if the whole cell means `in` or `out` in any column, such as `Subscribed` or `hard_bounce`. */
export function isSubscriptionState(cell: string): boolean {
  return stateOf(cell) !== undefined
}

/** Returns true if the whole cell means `out` in any column, such as `Unsubscribed`. */
export function isOptOutState(cell: string): boolean {
  return stateOf(cell) === 'out'
}

/** Returns true if the cell means that the person or record was deleted, in a column such as `account_status`. */
export function isDeletedState(cell: string): boolean {
  return deleted.has(withSpaces(folded(cell)))
}

/** Returns true for the state of a request that was not refused, in a column such as `erasure_requested`. */
export function isRequestState(cell: string): boolean {
  return requestStates.has(withSpaces(folded(cell)))
}

/** Returns true for a word such as `Deceased`. In a column about a relative or pet it says nothing about the person. */
export function isDeceasedState(cell: string): boolean {
  return deceased.has(withSpaces(folded(cell)))
}

/** Returns true if one part of a list, such as a tag, means `out` and is not one of `usualTags`. */
export function isOptOutInList(part: string): boolean {
  return isOptOutState(part) && !usualTags.has(withSpaces(folded(part)))
}

/** Returns true if a choice of contact means that the person wants none. `No preference` and `Not specified` do not mean that. */
export function isNoContact(cell: string): boolean {
  return consentMeaning(cell) === 'out' && !noChoice.test(withSpaces(folded(cell)))
}

/** Returns the result of `meaningOf` if it is `in` or `out`. The fast filter excludes most other cells. */
function stateOf(cell: string): 'in' | 'out' | undefined {
  const text = trimText(cell)
  if (text.length > maxCellLength) return undefined
  const mayBeState = startsLikeState[text.length * 256 + (text.charCodeAt(0) & 255)] === 1
  if (!mayBeState && !changesWhenFolded.test(text)) return undefined
  const meaning = meaningOf(text)
  return meaning === 'in' || meaning === 'out' ? meaning : undefined
}

/**
 * Codes of rejects and warnings, each with its meaning and hint. scripts/rejectsDoc.ts writes them to `docs/rejects.md`. Codes are stable,
 * sentences are not.
 */

/** Entry of one code: its outcome, and the sentences that users read. */
export interface CodeEntry {
  /**
   * `reject`: the row is not used. If the code is about one identifier, and the member has another usable one, only that identifier is not
   * used. `warning`: a value was repaired or dropped, or looks wrong. A warning may also be about a column or the whole source.
   */
  readonly outcome: 'reject' | 'warning'
  readonly meaning: string
  readonly hint: string
}

const reject = (meaning: string, hint: string): CodeEntry => ({ outcome: 'reject', meaning, hint })
const warning = (meaning: string, hint: string): CodeEntry => ({ outcome: 'warning', meaning, hint })

/** Code → its entry. */
export const recordCodes = {
  HEADER_REPEATED: reject('The header is repeated in the file.', 'Remove the second header from the export.'),
  ROW_RAGGED: reject(
    'The row has more or fewer cells than the header.',
    'Give the row as many cells as the header; quote cells that contain the delimiter.',
  ),
  ROW_QUOTE: reject(
    'A quote is in an unexpected place: inside an unquoted cell, or before more text of a quoted one.',
    'Quote the whole cell and double the quotes inside it, or set csv.relaxed_quotes of the source.',
  ),
  PRICE_ZERO: warning(
    'The price is zero.',
    'Correct the price; or, where it is right, set options.allow: [zero_price]. options.refuse: [zero_price] rejects such rows, guards.hold: [PRICE_ZERO] withholds the run.',
  ),
  TEXT_GARBLED: warning('A text looks wrongly decoded.', 'Set `encoding` to the encoding of the file, or correct the export.'),
  VALUE_PLACEHOLDER: warning('A placeholder (n/a, xx, TBD, test) was left out of an optional field.', 'Leave the field empty, or fill it.'),
  ENTITY_HTML: warning(
    'A named entity of HTML, which XML does not define, was read as its character.',
    'Write the character itself, or its number, in the export.',
  ),
  AMPERSAND_MENDED: warning('A raw & in an address was read as &amp;.', 'Write &amp; in the export.'),
  QUOTE_KEPT: warning(
    'A quote inside a cell that is not quoted was taken as text.',
    'Quote the whole cell and double the quotes inside it.',
  ),
  ROW_COMMENT: reject('A comment row, which begins with #, is among the data.', 'Remove the comment row from the export.'),
  ROW_JSON: reject('The record is not a valid JSON object.', 'Write one valid JSON object.'),
  ROW_JSON_KEYS: reject('A JSON object has one key twice, or two keys that give the same column.', 'Write every key once in an object.'),
  ROW_JSON_NAME: reject(
    'A key of a JSON object is an email or phone number. Keys become names of columns, which are stored and shown.',
    'Write emails and phone numbers as values, under one fixed name such as "email".',
  ),
  ROW_JSON_DEPTH: reject('The JSON record is nested too deeply.', 'Nest objects and arrays less deeply.'),
  ROW_COLUMNS: reject(
    'The JSON records name too many different keys, or one with a long path.',
    'Use the same short keys in every record.',
  ),
  DUPLICATE_CONFLICT: reject(
    'Several rows with different content have one key; none of them is used.',
    'Keep one row for each key; or set duplicates: last, if the last row is right.',
  ),
  SPREADSHEET_DAMAGE: reject(
    'A spreadsheet changed the value (exponent, #N/A, a date made of a number).',
    'Export again with the column formatted as text.',
  ),
  TEXT_BROKEN: reject('The text contains a NUL character or half of a surrogate pair.', 'Export the source again as UTF-8.'),
  END_UNPROVEN: warning(
    'Nothing proves that the end of the source was reached (standard input, a server that names no length). Records that are missing from it are not deleted.',
    'Set `source.complete` to what proves the end.',
  ),
  ROWS_JOINED: warning(
    'Rows with only an image, or with the values that variations share, were joined to the rows of their product.',
    'Nothing; the joined rows do not count as rows read.',
  ),
  PRODUCT_ROW_MISSING: reject(
    'The row continues a product, and the first row of this product (the one with the title) is not above it.',
    'Keep the rows of a product together, the one with its title first, as the shop exports them.',
  ),
  JOIN_ROW_MISSING: reject(
    'The joined file has no row with the id of this row, so its price or stock is not known. Its synced content stays as it is.',
    'Add the row to the joined file, or correct join.on.',
  ),
  JOIN_ROW_CONFLICT: reject(
    'The joined file has several rows with the id of this row, and their values differ. Its synced content stays as it is.',
    'Leave one row of each id in the joined file.',
  ),
  FIELD_MISSING: reject('A required field is empty.', 'Fill the field in the source, or map another column to it.'),
  ID_TOO_LONG: reject(
    'The product id is longer than allowed.',
    'Shorten the id to 100 characters, or to options.max_id_length where that is less.',
  ),
  ID_INVALID: reject(
    'The product id contains control, direction or invisible characters, or several values.',
    'Remove the invisible characters from the id; if a row contains several products, such as variants, export one row each.',
  ),
  ID_UNUSUAL: warning(
    'The product id contains a slash, a comma, a percent sign, or characters outside ASCII, which are often a mistake.',
    'Check that the id is what the shop uses.',
  ),
  ID_NORMALIZED: warning('The product id was brought to one Unicode form (NFC).', 'Nothing; or write the id in this form in the source.'),
  TITLE_TOO_LONG: reject('The title is longer than 150 characters.', 'Shorten it, or set options.allow: [cut_title].'),
  TITLE_CUT: warning('The title was cut at 150 characters.', 'Shorten the title so that it still matches the landing page.'),
  TEXT_CLEANED: warning('Control, direction or invisible characters were removed.', 'Nothing; or clean the text in the source.'),
  ENTITIES_DECODED: warning('The text was escaped twice; entities were decoded once.', 'Escape the text once in the export.'),
  DESCRIPTION_HTML: warning('HTML tags were removed from the description.', 'Nothing; or export plain text.'),
  DESCRIPTION_EMPTY: reject('Nothing is left of the description once HTML is removed.', 'Write a description of plain text.'),
  DESCRIPTION_MARKUP: reject(
    'The description contains a word in angle brackets, which the service reads as HTML.',
    'Write it without angle brackets: (M) for <M>.',
  ),
  DESCRIPTION_TOO_LONG: reject('The description is longer than 5,000 characters.', 'Shorten it, or set options.allow: [cut_description].'),
  DESCRIPTION_CUT: warning('The description was cut at 5,000 characters.', 'Shorten the description.'),
  AVAILABILITY_UNKNOWN: reject(
    'The availability is not a word that the service accepts.',
    'Use in stock, available for order, preorder, out of stock or discontinued, or map your words in options.values.availability.',
  ),
  CONDITION_UNKNOWN: reject(
    'The condition is not a word that the service accepts.',
    'Use new, used or refurbished, or map your words in options.values.condition.',
  ),
  WORD_NORMALIZED: warning('An enumerated word was written in another case or spelling.', 'Nothing.'),
  PRICE_CURRENCY_MISSING: reject('The price has no currency.', 'Write "19.99 EUR", or set options.default_currency.'),
  PRICE_CURRENCY_ADDED: warning('The configured default currency was added to the price.', 'Nothing.'),
  PRICE_CURRENCY_CONFLICT: reject(
    'The currency column of the row is not the currency that the pipeline sets for all prices.',
    'Remove options.default_currency, or currency of the price transform. Then the currency column of the file is used.',
  ),
  PRICE_CURRENCY_UNKNOWN: reject('The currency is not an active ISO 4217 code.', 'Use the three-letter code of a currency in use.'),
  PRICE_INVALID: reject(
    'The price is not a plain decimal number with a currency after it.',
    'Write "1299.00 EUR": digits, a point, a space and the currency; or use the price transform, or options.allow: [price_code_first], [wide_digits].',
  ),
  PRICE_PRECISION: reject('The price has more decimals than its currency.', 'Round the price to the minor units of the currency.'),
  PRICE_ZERO_REFUSED: reject(
    'The price is zero, and options.refuse names zero_price.',
    'Correct the price, or take zero_price out of options.refuse.',
  ),
  PRICE_NORMALIZED: warning('The price was written in another form.', 'Nothing.'),
  SALE_PRICE_DROPPED: warning(
    'The sale price is invalid, zero, not below the price, or in another currency, and was left out.',
    'Correct sale_price.',
  ),
  SALE_DATE_DROPPED: warning(
    'The sale period is not two ISO 8601 times with offset, start before end. It was left out, and the sale price with it.',
    'Write 2026-03-01T00:00:00+01:00/2026-03-31T23:59:59+02:00, or set options.timezone where only the offsets are missing.',
  ),
  SALE_DATE_NORMALIZED: warning('The sale period was written in another form.', 'Nothing.'),
  LINK_INVALID: reject(
    'The link is not an absolute https address, or hides another host, or is longer than 2,048 characters.',
    'Use an absolute https:// address without spaces or credentials.',
  ),
  LINK_NOT_HTTPS: reject('The link is http.', 'Use https, or set options.allow: [upgrade_http].'),
  LINK_UPGRADED: warning('The link was changed from http to https.', 'Write https in the source.'),
  LINK_HOST_OTHER: warning(
    'The host of the link is not in options.link_hosts.',
    'Correct the link, or add its host to options.link_hosts.',
  ),
  CATEGORY_UNUSUAL: warning(
    'The category is neither a number nor a path of the product taxonomy; it is sent as it is.',
    'Use a category number, or a path such as Home & Garden > Decor.',
  ),
  LINK_HOST_ASCII: warning('The host was written in its ASCII form.', 'Nothing.'),
  MOBILE_LINK_DROPPED: warning('The mobile link is not an https address and was left out.', 'Correct mobile_link.'),
  IMAGE_INVALID: reject(
    'The image link is not an absolute address of a JPG, GIF, WEBP or PNG.',
    'Give an absolute address of such an image; the prefix transform joins relative ones to an address of yours.',
  ),
  IMAGE_NOT_HTTPS: reject(
    'The image link is http, and options.refuse names http_image.',
    'Serve images over https, or take http_image out of options.refuse.',
  ),
  IMAGE_HTTP: warning('The image link is http.', 'Serve images over https; options.refuse: [http_image] rejects such rows.'),
  IMAGE_TYPE_UNKNOWN: warning('The address does not show the type of the image.', 'Nothing, if it is a JPG, GIF, WEBP or PNG.'),
  IMAGE_ENCODED: warning('Spaces or commas in an image address were percent-encoded.', 'Nothing.'),
  IMAGES_DROPPED: warning(
    'Images were left out: all but the first of image_link, or some additional images. Those are invalid, not allowed, repeated or beyond the tenth.',
    'Give one address in image_link, and up to ten different ones in additional_image_link.',
  ),
  IDENTIFIER_MISSING: reject('Brand, gtin and mpn are all missing.', 'Fill at least one of brand, gtin and mpn.'),
  GTIN_INVALID: reject('The gtin is invalid, and neither brand nor mpn replaces it.', 'Correct the gtin, or fill brand or mpn.'),
  GTIN_DROPPED: warning(
    'The gtin is invalid (length, check digit, reserved range) and was left out.',
    'Correct the gtin; write it as text, with its zeros.',
  ),
  GTIN_NORMALIZED: warning('Spaces, hyphens, apostrophes or ="…" were removed from the gtin, or an ISBN-10 became an ISBN-13.', 'Nothing.'),
  STOCK_CONTRADICTION: reject('The product is in stock with an inventory below 1.', 'Correct availability or inventory.'),
  INVENTORY_DROPPED: warning(
    'The inventory is not a whole number from 0 to 2147483647 and was left out.',
    'Write a whole number without separators.',
  ),
  VALUE_DROPPED: warning(
    'An optional field contains a value the service does not accept, and was left out.',
    'Correct the value, or map your words: for gender and age_group in options.values, for color with the transform map.',
  ),
  VALUE_TOO_LONG: warning('An optional field is too long and was left out.', 'Shorten the value.'),
  SEPARATOR_NORMALIZED: warning('Other separators between the levels of a category were replaced by " > ".', 'Nothing.'),
  SERVICE_FIELD_IGNORED: warning('The field is set by the service itself and is ignored.', 'Leave the column out of the feed.'),
  PREFIX_CONFLICT: warning('Several columns name one field; the first one with a prefix is used.', 'Keep one of them.'),
  COLUMN_SPELLED: warning('The column has the name of a field in another spelling, and is read as that field.', 'Nothing.'),
  COLUMN_UNKNOWN: warning('The column is not used.', 'Map the column if a field needs it.'),
  CONSENT_UNMAPPED: warning(
    'A column says who may be reached, by its name or its values, and no setting reads it.',
    'Write the consent: line that the run shows for the file; for a column that decides nothing, ignore: [column].',
  ),
  LEFT_UNMAPPED: warning(
    'A column that no setting reads contains states such as subscribed, unsubscribed or bounced.',
    'Write the consent: line that the run shows for the file; for a column that decides nothing, ignore: [column].',
  ),
  CONSENT_UNKNOWN: warning(
    'The export has no column of consent, or the name of the file says that its people did not subscribe.',
    'Export the column; or, where every person in the file agreed, set consent: none.',
  ),
  FILTER_UNKNOWN: warning(
    'No record of JSON or XML has a column of only: or except:, so the filter cannot decide which rows are sent.',
    'Correct the column under only: or except:; or, where the export omits it on purpose, set guards: { accept: [FILTER_UNKNOWN] }.',
  ),
  EXPIRY_UNKNOWN: warning(
    'No row has the column of map: { expires_at }, so every membership would last for expires_in.',
    'Correct the column of expires_at; or, where the export omits it on purpose, set guards: { accept: [EXPIRY_UNKNOWN] }.',
  ),
  CONSENT_OTHER_CHANNEL: warning(
    'The column is about a channel without a mapped identifier, such as SMS if only emails are mapped. It is not applied.',
    'Nothing; or write consent: with the column, where it decides.',
  ),
  IDENTIFIER_OPTED_OUT: warning(
    'An identifier of the row is also on a row that opted out, and is not sent.',
    'Nothing; or correct the consent of one of the rows in the source.',
  ),
  OWNER_COLUMN: warning(
    'The mapped column seems to contain the address of a colleague, not of the customer.',
    "Map the column with the customer's own address; or, where it is mapped on purpose, set guards: { accept: [OWNER_COLUMN] }.",
  ),
  COLUMN_MISSING: warning('A mapped column is not in the source.', 'Correct the column name in map.'),
  KEY_MISSING: reject('The row has no key.', 'Fill the key column, or map key to a column that is always filled.'),
  NO_IDENTIFIER: reject('The row has no identifier.', 'Fill an email, a phone number or another mapped identifier.'),
  TOO_MANY_IDENTIFIERS: reject('The row has more than 50 identifiers.', 'Check the mapping: a row is one person.'),
  EMAIL_INVALID: reject(
    'The email address is not valid.',
    'Correct it; one address in a cell, without name or mailto:; or set options.allow: [split_lists, wrapped_email].',
  ),
  EMAIL_ROLE: warning(
    'The address belongs to a role, such as info@, or is an example. It does not belong to a person.',
    'Check that you intend to send such addresses.',
  ),
  EMAIL_MIXED_SCRIPT: warning('The address mixes alphabets. It looks like another address, but is a different one.', 'Check the address.'),
  PHONE_INVALID: reject('The phone number is not valid in its country.', 'Write it with + and country code.'),
  PHONE_COUNTRY_MISSING: reject(
    'The phone number has no country code and no default country applies.',
    'Write it with +, or map default_country.',
  ),
  PHONE_EXTENSION: warning('The extension was removed from the phone number.', 'Nothing.'),
  DEVICE_ID_INVALID: reject(
    'The device id is not an advertising id (UUID with dashes, or 16 hex digits), or is all zeros.',
    'Export the advertising id as the device gives it.',
  ),
  HANDLE_INVALID: reject(
    'The handle is not 1 to 15 letters, digits and underscores.',
    'Write only the handle, with or without @, and not its web address.',
  ),
  SERVICE_ID_INVALID: reject('The service user id is not 1 to 20 digits.', 'Export the id as text.'),
  PARTNER_ID_PERSONAL: reject(
    'The partner user id looks like an email, or like a phone, card or bank account number. It would be sent unchanged.',
    'Map an opaque id of your own.',
  ),
  PARTNER_ID_INVALID: reject('The partner user id is too long or contains control characters.', 'Use an id of up to 256 plain characters.'),
  HASH_INVALID: reject(
    'The value is not a SHA-256 in 64 hex digits.',
    'Export SHA-256 digests in hex; or set options.allow: [base64_hash] where they are base64.',
  ),
  HASH_EXPECTED: reject(
    'A raw value is in a column that is declared as hashed.',
    'Hash the column, or remove hashed: true. Look for where raw values come from.',
  ),
  HASH_OF_PLACEHOLDER: reject('The digest is that of an empty text or of a placeholder.', 'Leave the cell empty before hashing.'),
  ALREADY_HASHED: warning('The value was hashed already and was taken as it is.', 'Declare the column with hashed: true.'),
  HASH_NORMALIZED: warning('The digest was written in another form (upper case, 0x, quotes).', 'Nothing.'),
  IDENTIFIER_DROPPED: warning('One of several identifiers of the row is not usable and was left out.', 'Correct it in the source.'),
  TIMES_CONTRADICT: reject('effective_at is not before expires_at, or not before the end that expires_in gives.', 'Correct the two times.'),
  EXPIRES_AT_INVALID: reject('expires_at is not an ISO 8601 date or time with offset.', 'Write 2027-01-31T00:00:00Z.'),
  EFFECTIVE_AT_DROPPED: warning(
    'effective_at is not an ISO 8601 date or time with offset and was left out.',
    'Write 2026-01-31T00:00:00Z.',
  ),
  TRANSFORM_DROPPED: warning(
    'A transform could not be applied to an optional field, which was left out.',
    'Correct the value or the transform.',
  ),
  TRANSFORM_FAILED: reject('A transform could not be applied.', 'Correct the value or the transform.'),
} as const satisfies Record<string, CodeEntry>

export type RecordCode = keyof typeof recordCodes

/** Returns true for a code of `recordCodes`. */
export function isRecordCode(code: string): code is RecordCode {
  return Object.hasOwn(recordCodes, code)
}

/** Returns the hint of a code. */
export function hintOf(code: RecordCode): string {
  return recordCodes[code].hint
}

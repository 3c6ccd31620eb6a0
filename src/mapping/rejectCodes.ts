/** Codes of rejects and warnings, which `docs/rejects.md` shows. Codes never change, their sentences may. */

/** Outcome of one code, and the sentences that users read. */
export interface CodeEntry {
  /**
   * `reject`: the row is not used. Exception: if the code is about one identifier and the member has another usable one, only this
   * identifier is not used.
   * `warning`: a value was repaired or dropped, or looks wrong. A warning may also be about a column or the whole source.
   */
  readonly outcome: 'reject' | 'warning'
  readonly meaning: string
  readonly hint: string
}

const reject = (meaning: string, hint: string): CodeEntry => ({ outcome: 'reject', meaning, hint })
const warning = (meaning: string, hint: string): CodeEntry => ({ outcome: 'warning', meaning, hint })

export const recordCodes = {
  HEADER_REPEATED: reject('The row repeats the header.', 'Remove the second header from the export.'),
  ROW_RAGGED: reject(
    'The row has more or fewer cells than the header.',
    'Give the row as many cells as the header; quote cells that contain the delimiter.',
  ),
  ROW_QUOTE: reject(
    'A quote is inside a cell that has no quotes around it, or text follows the closing quote of a cell.',
    'Quote the whole cell and write each quote inside it twice; or set source.csv.relaxed_quotes: true.',
  ),
  PRICE_ZERO: warning(
    'The price is zero.',
    'Correct the price; or, if it is right, set options.allow: [zero_price]. To reject such rows, set options.refuse: [zero_price]; to withhold the run, guards.hold: [PRICE_ZERO].',
  ),
  TEXT_GARBLED: warning(
    'The text contains characters of a wrong encoding, such as Ã¼ for ü.',
    'Set source.encoding to the encoding of the file, or correct the export.',
  ),
  VALUE_PLACEHOLDER: warning(
    'An optional field contains a placeholder (n/a, xx, TBD, test) and was left out.',
    'Leave the field empty, or fill it.',
  ),
  ENTITY_HTML: warning(
    'An entity of HTML that XML does not define, such as &nbsp;, was read as its character.',
    'Write the character, or its number (&#160;), in the export.',
  ),
  AMPERSAND_MENDED: warning('An address contains & instead of &amp;. It was read as &amp;.', 'Write &amp; in the export.'),
  QUOTE_KEPT: warning(
    'A quote inside a cell that has no quotes around it was read as text.',
    'Quote the whole cell and write each quote inside it twice.',
  ),
  ROW_COMMENT: reject(
    'The row is a comment: it begins with # and does not have as many cells as the header.',
    'Remove the comment from the export.',
  ),
  ROW_JSON: reject('The record is not a valid JSON object.', 'Write one valid JSON object.'),
  ROW_JSON_KEYS: reject('A JSON object has the same key twice, or two keys that become the same column.', 'Write each key once.'),
  ROW_JSON_NAME: reject(
    'A key of a JSON object is an email or phone number. Keys become column names, which are stored and shown.',
    'Write emails and phone numbers as values, under one fixed name such as "email".',
  ),
  ROW_JSON_DEPTH: reject('The JSON record is nested too deeply.', 'Nest objects and arrays less deeply.'),
  ROW_COLUMNS: reject(
    'The JSON records have too many different keys, or a path of nested keys is too long.',
    'Use the same short keys in every record.',
  ),
  DUPLICATE_CONFLICT: reject(
    'Several rows have the same key and different content. None of them is used.',
    'Keep one row for each key; or set duplicates: last to use the last one.',
  ),
  SPREADSHEET_DAMAGE: reject(
    'A spreadsheet program changed the value: an exponent, #N/A, or a date made of a number.',
    'Export again with the column formatted as text.',
  ),
  TEXT_BROKEN: reject('The text contains a NUL character or half of a surrogate pair.', 'Export the source again as UTF-8.'),
  END_UNPROVEN: warning(
    'Nothing proves that the source was read to its end, for example from standard input or a server that sends no length. Records that are missing from it are not deleted.',
    'Set source.complete to what proves the end (docs/sources.md).',
  ),
  ROWS_JOINED: warning(
    'Several rows of one product were joined: rows with only an image, or with the values that its variations share.',
    'Nothing; the joined rows do not count as rows read.',
  ),
  PRODUCT_ROW_MISSING: reject(
    'The row continues a product whose first row, the one with the title, is not above it.',
    'Keep the rows of a product together, the one with the title first, as the shop exports them.',
  ),
  JOIN_ROW_MISSING: reject(
    'The file of source.join has no row with this id, so the columns of that file are not known. A synced record stays as it is. On a do-not-reach list, the person of the row is not added.',
    'Add the row to that file, or correct source.join.on. For a do-not-reach list, use no join: then each row adds its person.',
  ),
  JOIN_ROW_CONFLICT: reject(
    'The file of source.join has several rows with this id and different values. A synced record stays as it is. On a do-not-reach list, the person of the row is not added.',
    'Leave one row of each id in that file.',
  ),
  FIELD_MISSING: reject('A required field is empty.', 'Fill the field in the source, or map another column to it.'),
  ID_TOO_LONG: reject('The product id is longer than options.max_id_length allows (default 100).', 'Shorten the id.'),
  ID_INVALID: reject(
    'The product id contains invisible characters, such as control characters or direction marks, or the row has several ids.',
    'Remove the invisible characters. If the row contains several products, such as variants, export one row for each.',
  ),
  ID_UNUSUAL: warning(
    'The product id contains a slash, a comma, a percent sign, or a character outside ASCII. Such an id is often a mistake.',
    'Check that the shop uses this id.',
  ),
  ID_NORMALIZED: warning('The product id was changed to the Unicode form NFC.', 'Nothing; or write the id in NFC in the source.'),
  TITLE_TOO_LONG: reject('The title is longer than 150 characters.', 'Shorten it, or set options.allow: [cut_title].'),
  TITLE_CUT: warning('The title was cut at 150 characters.', 'Shorten the title in the source, so that it still matches the landing page.'),
  TEXT_CLEANED: warning(
    'Invisible characters, such as control characters or direction marks, were removed.',
    'Nothing; or clean the text in the source.',
  ),
  ENTITIES_DECODED: warning('The text was escaped twice (&amp;amp;). One level was decoded.', 'Escape the text once in the export.'),
  DESCRIPTION_HTML: warning('HTML tags were removed from the description.', 'Nothing; or export plain text.'),
  DESCRIPTION_EMPTY: reject('The description contains only HTML tags or invisible characters.', 'Write a description with text.'),
  DESCRIPTION_MARKUP: reject(
    'The description contains a word in angle brackets, which the service reads as HTML.',
    'Write it without angle brackets: (M) for <M>.',
  ),
  DESCRIPTION_TOO_LONG: reject('The description is longer than 5,000 characters.', 'Shorten it, or set options.allow: [cut_description].'),
  DESCRIPTION_CUT: warning('The description was cut at 5,000 characters.', 'Shorten the description.'),
  AVAILABILITY_UNKNOWN: reject(
    'The availability is not a word that the service accepts.',
    'Use in stock, available for order, preorder, out of stock or discontinued; or map your words in options.values.availability.',
  ),
  CONDITION_UNKNOWN: reject(
    'The condition is not a word that the service accepts.',
    'Use new, used or refurbished; or map your words in options.values.condition.',
  ),
  WORD_NORMALIZED: warning('A word was replaced by the word of the service, such as In_Stock by in stock.', 'Nothing.'),
  PRICE_CURRENCY_MISSING: reject('The price has no currency.', 'Write "19.99 EUR", or set options.default_currency.'),
  PRICE_CURRENCY_ADDED: warning('The configured default currency was added to the price.', 'Nothing.'),
  PRICE_CURRENCY_CONFLICT: reject(
    'The currency column of the row has another currency than the pipeline sets for all prices.',
    'Remove that setting: options.default_currency, or currency of the price transform. Then the currency column is used.',
  ),
  PRICE_CURRENCY_UNKNOWN: reject('The currency is not an active ISO 4217 code.', 'Use the three-letter code of a currency in use.'),
  PRICE_INVALID: reject(
    'The price is not a plain decimal number with a currency after it.',
    'Write "1299.00 EUR": digits, a point, a space and the currency. For other number formats, use the price transform. For "EUR 1299.00", set options.allow: [price_code_first]; for full-width digits, [wide_digits].',
  ),
  PRICE_PRECISION: reject(
    'The price has more decimals than its currency has.',
    'Round the price to the decimals of the currency: 2 for EUR, none for JPY.',
  ),
  PRICE_ZERO_REFUSED: reject(
    'The price is zero, and options.refuse contains zero_price.',
    'Correct the price, or remove zero_price from options.refuse.',
  ),
  PRICE_NORMALIZED: warning('The price was rewritten, such as 12.99usd as 12.99 USD.', 'Nothing.'),
  SALE_PRICE_DROPPED: warning(
    'The sale price was left out: it is invalid, zero, in another currency than the price, or not below the price.',
    'Correct sale_price.',
  ),
  SALE_DATE_DROPPED: warning(
    'The sale price was left out, because its period is invalid. A period is two ISO 8601 times with offset, start before end.',
    'Write 2026-03-01T00:00:00+01:00/2026-03-31T23:59:59+02:00; or, if only the offsets are missing, set options.timezone.',
  ),
  SALE_DATE_NORMALIZED: warning('The sale period was rewritten in the form that is sent.', 'Nothing.'),
  LINK_INVALID: reject(
    'The link is not a valid absolute https address, has a user name (@) before its host, or is longer than 2,048 characters.',
    'Use an absolute https:// address without spaces, user name or password.',
  ),
  LINK_NOT_HTTPS: reject(
    'The link begins with http://.',
    'Use https://; or set options.allow: [upgrade_http], which changes http to https.',
  ),
  LINK_UPGRADED: warning('The link was changed from http to https.', 'Write https in the source.'),
  LINK_HOST_OTHER: warning(
    'The host of the link is not in options.link_hosts.',
    'Correct the link, or add its host to options.link_hosts.',
  ),
  CATEGORY_UNUSUAL: warning(
    'The category is neither a number nor a path of the product taxonomy; it is sent as it is.',
    'Use a category number, or a path such as Home & Garden > Decor.',
  ),
  LINK_HOST_ASCII: warning('The host was rewritten in ASCII (xn--…).', 'Nothing.'),
  MOBILE_LINK_DROPPED: warning('The mobile link is not an https address and was left out.', 'Correct mobile_link.'),
  IMAGE_INVALID: reject(
    'The image link is not an absolute address of a JPG, GIF, WEBP or PNG.',
    'Give an absolute address of such an image. If addresses are relative, add the start of the address with the prefix transform.',
  ),
  IMAGE_NOT_HTTPS: reject(
    'The image link begins with http://, and options.refuse contains http_image.',
    'Serve images over https, or remove http_image from options.refuse.',
  ),
  IMAGE_HTTP: warning(
    'The image link begins with http://.',
    'Serve images over https. To reject such rows, set options.refuse: [http_image].',
  ),
  IMAGE_TYPE_UNKNOWN: warning(
    'The image address does not end with the type of the image.',
    'Nothing, if the image is a JPG, GIF, WEBP or PNG.',
  ),
  IMAGE_ENCODED: warning('Spaces or commas in an image address were percent-encoded.', 'Nothing.'),
  IMAGES_DROPPED: warning(
    'Images were left out: all but the first of image_link, or additional images. Those are invalid, repeated, beyond the tenth, or http (options.refuse: [http_image]).',
    'Give one address in image_link, and up to ten different ones in additional_image_link.',
  ),
  IDENTIFIER_MISSING: reject('Brand, gtin and mpn are all missing.', 'Fill at least one of brand, gtin and mpn.'),
  GTIN_INVALID: reject('The gtin is invalid, and the row has no brand or mpn.', 'Correct the gtin, or fill brand or mpn.'),
  GTIN_DROPPED: warning(
    'The gtin was left out: its length or check digit is wrong, or its range is reserved.',
    'Correct the gtin; export it as text, so that leading zeros stay.',
  ),
  GTIN_NORMALIZED: warning('Spaces, hyphens, apostrophes or ="…" were removed from the gtin, or an ISBN-10 became an ISBN-13.', 'Nothing.'),
  STOCK_CONTRADICTION: reject('The availability is in stock, but the inventory is below 1.', 'Correct availability or inventory.'),
  INVENTORY_DROPPED: warning(
    'The inventory was left out: it is not a whole number from 0 to 2147483647.',
    'Write a whole number without separators.',
  ),
  VALUE_DROPPED: warning(
    'An optional field was left out: the service does not accept its value.',
    'Correct the value, or map your words: gender and age_group in options.values, color with the map transform.',
  ),
  VALUES_LEFT_OUT: warning(
    'A field has several different values, such as repeated elements or a list. The first one is used.',
    'Write one value; or map the right column.',
  ),
  VALUE_TOO_LONG: warning('An optional field was left out: its value is too long.', 'Shorten the value.'),
  SEPARATOR_NORMALIZED: warning('The separators between the levels of a category were replaced by " > ".', 'Nothing.'),
  SERVICE_FIELD_IGNORED: warning('The service sets this field itself, so the column is ignored.', 'Leave the column out of the feed.'),
  PREFIX_CONFLICT: warning(
    'Several columns have the name of one field, such as g:title and title. The first one with a prefix is used.',
    'Keep one of them.',
  ),
  COLUMN_SPELLED: warning('The name of the column is another spelling of a field. The column is read as that field.', 'Nothing.'),
  COLUMN_UNKNOWN: warning('The column is not used.', 'Map the column if a field needs it.'),
  CONSENT_UNMAPPED: warning(
    'A column looks like consent, by its name or its values, and no setting reads it.',
    'Write the consent: line that the run shows. If the column does not decide who may be reached, set ignore: [column].',
  ),
  LEFT_UNMAPPED: warning(
    'A column contains states such as subscribed, unsubscribed or bounced, and no setting leaves out the rows that opted out.',
    'Write the consent: line that the run shows. If the column does not decide who may be reached, set ignore: [column].',
  ),
  CONSENT_UNKNOWN: warning(
    'The file has no consent column, or its name says that its people did not subscribe.',
    'Export the column; or, if every person in the file agreed, set consent: none.',
  ),
  FILTER_UNKNOWN: warning(
    'No record (JSON or XML) has the column of only: or except:, so the filter cannot decide which rows are sent.',
    'Correct the column under only: or except:; or, if the export omits it on purpose, set guards: { accept: [FILTER_UNKNOWN] }.',
  ),
  EXPIRY_UNKNOWN: warning(
    'No row has the column of map.expires_at, so every membership would last for expires_in.',
    'Correct the column of expires_at; or, if the export omits it on purpose, set guards: { accept: [EXPIRY_UNKNOWN] }.',
  ),
  CONSENT_OTHER_CHANNEL: warning(
    'The consent column is not applied. It is about a channel that the pipeline does not use, such as SMS if only emails are mapped.',
    'Nothing; or, if the column decides whether a row is sent, name it in consent:.',
  ),
  IDENTIFIER_OPTED_OUT: warning(
    'An identifier of the row is not sent, because another row with it opted out.',
    'Nothing; or correct the consent of one of the rows in the source.',
  ),
  OWNER_COLUMN: warning(
    'The mapped column seems to contain the address of a colleague, not of the customer.',
    "Map the column with the customer's own address; or, if it is mapped on purpose, set guards: { accept: [OWNER_COLUMN] }.",
  ),
  COLUMN_MISSING: warning('A mapped column is not in the source.', 'Correct the column name in map.'),
  CELL_MASKED: reject(
    'The key, or a cell that decides who is sent (consent, age, row filter), is still masked in a file of rejects.',
    'Write the value of the source into the cell; or write the file again with sluice rejects RUN_ID --csv FILE --from-source.',
  ),
  KEY_MISSING: reject('The row has no key.', 'Fill the key column, or map key to a column that is always filled.'),
  NO_IDENTIFIER: reject('All identifiers of the row are empty.', 'Fill an email, a phone number or another mapped identifier.'),
  TOO_MANY_IDENTIFIERS: reject('The row has more than 50 identifiers.', 'Check the mapping: a row is one person.'),
  EMAIL_INVALID: reject(
    'The email address is not valid.',
    'Write one address in a cell, without a name or mailto:. To accept several addresses in a cell, set options.allow: [split_lists]; to accept names or mailto:, [wrapped_email].',
  ),
  EMAIL_ROLE: warning(
    'The address belongs to a role, such as info@, or is an example. It does not belong to a person.',
    'Check that you intend to send such addresses.',
  ),
  EMAIL_MIXED_SCRIPT: warning(
    'The address mixes alphabets, such as Latin and Cyrillic. It may look like another address.',
    'Check the address.',
  ),
  PHONE_INVALID: reject('The phone number is not valid in its country.', 'Write it with + and the country code.'),
  PHONE_COUNTRY_MISSING: reject(
    'The phone number has no country code, and no default country applies.',
    'Write it with + and the country code, or set default_country under map: { phone_number: … }.',
  ),
  PHONE_EXTENSION: warning('The extension was removed from the phone number.', 'Nothing.'),
  DEVICE_ID_INVALID: reject(
    'The device id is not an advertising id (UUID with dashes, or 16 hex digits), or is all zeros.',
    'Export the advertising id as the device gives it.',
  ),
  HANDLE_INVALID: reject(
    'The handle is not 1 to 15 letters, digits and underscores.',
    'Write only the handle, with or without @, not the address of the profile.',
  ),
  SERVICE_ID_INVALID: reject('The service user id is not 1 to 20 digits.', 'Export the id as text.'),
  PARTNER_ID_PERSONAL: reject(
    'The partner user id looks like an email, or like a phone, card or bank account number. It would be sent unchanged.',
    'Map an id of your own that contains no personal data.',
  ),
  PARTNER_ID_INVALID: reject(
    'The partner user id is longer than 256 characters, or contains control characters.',
    'Use an id of up to 256 visible characters.',
  ),
  HASH_INVALID: reject(
    'The value is not a SHA-256 in 64 hex digits.',
    'Export SHA-256 digests in hex. If they are base64, set options.allow: [base64_hash].',
  ),
  HASH_EXPECTED: reject(
    'A column with hashed: true contains a raw value.',
    'Hash the value, or remove hashed: true. Find out why the export contains raw values.',
  ),
  HASH_OF_PLACEHOLDER: reject(
    'The value is the digest of an empty text or of a placeholder.',
    'Leave cells without a value empty instead of hashing them.',
  ),
  ALREADY_HASHED: warning(
    'The value is a digest, although the column has no hashed: true. It was not hashed again.',
    'Set hashed: true for the column.',
  ),
  HASH_NORMALIZED: warning('The digest was rewritten as 64 lower-case hex digits.', 'Nothing.'),
  IDENTIFIER_DROPPED: warning(
    'An identifier of the row is invalid and was left out. The row is used with its other identifiers.',
    'Correct it in the source.',
  ),
  TIMES_CONTRADICT: reject(
    'effective_at is not before the end of the membership: expires_at, or the end by expires_in.',
    'Correct the two times.',
  ),
  EXPIRES_AT_INVALID: reject('expires_at is not an ISO 8601 date or time with offset.', 'Write a time such as 2027-01-31T00:00:00Z.'),
  EXPIRES_AT_DROPPED: warning(
    'expires_at of a row of a do-not-reach list was left out: it is not an ISO 8601 date or time with offset. The person is on the list.',
    'Write a time such as 2027-01-31T00:00:00Z.',
  ),
  EFFECTIVE_AT_DROPPED: warning(
    'effective_at was left out: it is not an ISO 8601 date or time with offset.',
    'Write a time such as 2026-01-31T00:00:00Z.',
  ),
  TRANSFORM_DROPPED: warning(
    'An optional field was left out: its transform could not be applied to the value.',
    'Correct the value or the transform.',
  ),
  TRANSFORM_FAILED: reject('A transform could not be applied to a value that the row needs.', 'Correct the value or the transform.'),
} as const satisfies Record<string, CodeEntry>

export type RecordCode = keyof typeof recordCodes

export function isRecordCode(code: string): code is RecordCode {
  return Object.hasOwn(recordCodes, code)
}

export function hintOf(code: RecordCode): string {
  return recordCodes[code].hint
}

/** Codes of the notes on a source, a run or the changes of a run. */

/** Code → its meaning, which docs/rejects.md shows. */
export const qualityCodes = {
  GROUP_LARGE: 'More than 100 products share one item_group_id. It is often a placeholder.',
  GROUP_SAME: 'All products, 20 or more, have the same item_group_id. The service would show them as variants of one product.',
  ALL_OUT_OF_STOCK: 'All products, 100 or more, are out of stock.',
  CURRENCIES_MIXED: 'Prices have several currencies.',
  BRAND_SAME: 'All products, 100 or more, have the same brand. It is often a placeholder.',
  MOJIBAKE: 'Some texts contain characters of a wrong encoding, such as Ã© for é.',
  ENCODING_DOUBTFUL: 'More than 5 % of the products contain wrongly decoded text (of fewer than 100 products: more than half).',
  IDENTIFIER_REPEATED: 'One identifier is on more than 50 rows.',
  IDENTIFIER_SHARE: 'More than 30 % of the members (of 100 or more) have the same identifier.',
  FILL_RATE_FELL: 'One type of identifier is on a far smaller share of the members than in the last run.',
  OPT_OUTS_FELL:
    'Less than half as many rows opt out as in the last complete read, and more people would be sent. The usual cause is a new spelling of the values in the consent column.',
  OPT_OUTS_UNREAD:
    'The end of a source is not proven, or one of several sources lost most of its rows. Fewer rows opt out than in the last complete read. The rows that were not read may say no.',
  COLUMN_VANISHED: 'A column of the last run is no longer in the source.',
  GROUP_OF_ITSELF: 'Some products have their own id as item_group_id.',
  PERSONAL_COLUMN: 'A column contains what looks like card or bank account numbers. If it does, remove it from the export.',
  EMAIL_ROLE_SHARE: 'More than 1 % of the rows (of 100 or more) have a role address such as info@, or an example address.',
  MOST_CHANGED: 'More than half of the products changed since the last sync.',
  IDS_CHANGED:
    'More than half of the products of the last sync are missing. There are also new ids, more than half as many as all its products. The usual cause is another id column.',
  PEOPLE_CHANGED:
    'More than half of the synced people would be removed, and many new people sent. The usual causes are a wrong file and a reversed test of consent.',
  PRICE_MOVED: 'Prices changed by more than guards.max_price_change_percent (default 50).',
  LINKS_DOUBTFUL: 'More than half of the links of the last sync changed to a new host, or to one common address.',
  PRICES_DOUBTFUL: 'More than 10 % of the synced prices became zero, 100 or 1,000 times as high or as low, or changed only their currency.',
  OTHER_PIPELINE:
    'The last read for this destination was of another pipeline. Each of the two deletes what the other sends. After a pipeline is renamed, this note appears once.',
  DESTINATION_CHANGED:
    'The pipeline wrote to another destination before. No run updates that destination any more or removes content from it, not even people who opt out.',
  PAUSE_ELSEWHERE: 'The pipeline is paused for the destination that it wrote to before. The pause does not apply to the present one.',
  ROWS_ERODED: 'Valid rows fell by more than half within a day, in several steps that were each too small for a guard.',
  DO_NOT_REACH_UNREAD: 'A do-not-reach pipeline of the same account was never read, so people on its list are sent.',
  SANDBOX_REPLACED:
    'The sandbox was started again without its state, so its synced content is gone. `sluice run PIPELINE --full` sends everything again.',
  IDENTIFIER_UNMAPPED:
    'A column that is not mapped contains email addresses or phone numbers. Without it, these people, or one of their identifiers, are not sent.',
  IMAGE_BROKEN: 'Image links of some products are broken. options.image_sample sets how many links are checked, after everything was sent.',
  PLAN_APPLIED: 'The plan was applied before, so this run sent nothing.',
  OUT_OF_STOCK_ROSE: 'More products than guards.max_out_of_stock_percent (default 10) allows went out of stock since the last sync.',
} as const
export type QualityCode = keyof typeof qualityCodes

/** Codes of notes that are created after the guards, so they cannot withhold the run. */
export const lateCodes: readonly string[] = ['IMAGE_BROKEN', 'PLAN_APPLIED'] satisfies readonly QualityCode[]

/**
 * Codes of notes and warnings that withhold a run by default (docs/inputs.md, cases 12, 91, 110, 119, 131, 150, 190 and 201). A code in
 * `guards.accept` does not withhold the run.
 */
export const withholdingCodes: readonly string[] = [
  'OUT_OF_STOCK_ROSE',
  'PAUSE_ELSEWHERE',
  'IDS_CHANGED',
  'PEOPLE_CHANGED',
  'PRICES_DOUBTFUL',
  'LINKS_DOUBTFUL',
  'ENCODING_DOUBTFUL',
  'GROUP_SAME',
  'EMAIL_ROLE_SHARE',
  'IDENTIFIER_SHARE',
  'OWNER_COLUMN',
  'CONSENT_UNMAPPED',
  'CONSENT_UNKNOWN',
  'FILTER_UNKNOWN',
  'EXPIRY_UNKNOWN',
  'OPT_OUTS_FELL',
  'OPT_OUTS_UNREAD',
  'LEFT_UNMAPPED',
  'IDENTIFIER_UNMAPPED',
]

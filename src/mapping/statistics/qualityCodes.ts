/** Codes of the notes on a source, a run or the changes of a run. */

/** Code → its meaning, which docs/rejects.md shows. */
export const qualityCodes = {
  GROUP_LARGE: 'More than 100 products share one item_group_id: often a placeholder.',
  GROUP_SAME: 'All products, 20 or more, have one and the same item_group_id: the service would show them as variants of one.',
  ALL_OUT_OF_STOCK: 'All products, 100 or more, are out of stock.',
  CURRENCIES_MIXED: 'Prices come in several currencies.',
  BRAND_SAME: 'All products, 100 or more, have one and the same brand: often a placeholder.',
  MOJIBAKE: 'Some texts look wrongly decoded (Ã©).',
  ENCODING_DOUBTFUL: 'More than 5 % of the products (in files of fewer than 100: more than half) contain wrongly decoded text.',
  IDENTIFIER_REPEATED: 'One identifier is on more than 50 rows.',
  IDENTIFIER_SHARE: 'More than 30 % of the members (of 100 or more) have one and the same identifier.',
  FILL_RATE_FELL: 'A far smaller share of the members than in the last run has an identifier of one type.',
  OPT_OUTS_FELL:
    'Fewer than half as many rows opt out as in the last run, and these people would be sent: often another spelling of the values of consent:.',
  COLUMN_VANISHED: 'A column of the last run is no longer in the source.',
  GROUP_OF_ITSELF: 'Some products have their own id as item_group_id.',
  PERSONAL_COLUMN: 'An unmapped column contains card or bank account numbers. It is not used; remove it from the export.',
  EMAIL_ROLE_SHARE: 'More than 1 % of the rows (of 100 or more) have a role address such as info@, or an example address.',
  MOST_CHANGED: 'More than half of the products changed since the last sync.',
  IDS_CHANGED:
    'More than half of the products of the last sync are missing, and at least as many new ids appeared as half of them: often another id column.',
  PEOPLE_CHANGED:
    'More than half of the synced people would be removed, and many new ones sent: often another file, or a reversed test of consent.',
  PRICE_MOVED: 'Prices differ from the synced ones by more than a percentage (guards.max_price_change_percent, 50).',
  LINKS_DOUBTFUL:
    'More than half of the products of the last sync link to a host that no changed product had before, or all to one address.',
  PRICES_DOUBTFUL: 'More than 10 % of the synced prices became zero, 100 or 1,000 times as high or as low, or changed only their currency.',
  OTHER_PIPELINE:
    'Another pipeline read its source for this destination last. Each deletes what the other sends; after the pipeline was renamed, this is expected once.',
  DESTINATION_CHANGED:
    'The pipeline wrote to another destination before. No run updates that one any more, or removes content from it, not even people who opt out.',
  PAUSE_ELSEWHERE: 'The pipeline is paused for the destination that it wrote to before. The pause is not valid for the present one.',
  ROWS_ERODED: 'Valid rows fell by more than half within a day, in steps that are each within the limits of the delete guards.',
  DO_NOT_REACH_UNREAD: 'A do-not-reach pipeline of the same account was never read, so people on its list are sent.',
  SANDBOX_REPLACED:
    'The sandbox was started again without its state, so its synced content is gone. `sluice run PIPELINE --full` sends everything again.',
  IDENTIFIER_UNMAPPED:
    'A column that is not mapped contains email addresses or phone numbers, so these people, or one of their identifiers, would not be sent.',
  IMAGE_BROKEN: 'Image links of a sample of products lead nowhere (options.image_sample). Checked after everything was sent.',
  PLAN_APPLIED: 'The plan was applied before, so this run sent nothing.',
  OUT_OF_STOCK_ROSE: 'More products than allowed went out of stock since the last sync (guards.max_out_of_stock_percent, 10).',
} as const
export type QualityCode = keyof typeof qualityCodes

/** Codes of notes that are created too late for a guard to withhold the run. */
export const lateCodes: readonly string[] = ['IMAGE_BROKEN', 'PLAN_APPLIED'] satisfies readonly QualityCode[]

/**
 * Codes of notes and warnings that withhold a run by default (docs/inputs.md, cases 12, 91, 110, 119, 131, 150, 190 and 201). Codes in
 * `guards.accept` do not withhold it.
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
  'LEFT_UNMAPPED',
  'IDENTIFIER_UNMAPPED',
]

/** Codes of the notes on a source (quality.ts), with what each says; docs/rejects.md lists them. */
export const qualityCodes = {
  GROUP_LARGE: 'More than 100 products share one item_group_id: often a placeholder.',
  ALL_OUT_OF_STOCK: 'Every product is out of stock.',
  OUT_OF_STOCK_SHARE: 'Share of products that are out of stock.',
  CURRENCIES_MIXED: 'Prices come in several currencies.',
  BRAND_SAME: 'Every product has one and the same brand: often a placeholder.',
  MOJIBAKE: 'Texts look as if they had been decoded wrongly (Ã©).',
  IDENTIFIER_REPEATED: 'One identifier stands on more than 50 rows.',
  IDENTIFIER_SHARE: 'One identifier stands on more than 30 % of the rows.',
  FILL_RATE: 'Share of members that have an identifier of the kind.',
  FILL_RATE_FELL: 'Far fewer members than last time have an identifier of the kind.',
  COLUMN_VANISHED: 'A column of the last reading is not in the source any more.',
  GROUP_OF_ITSELF: 'Products whose item_group_id is their own id.',
  PERSONAL_COLUMN: 'A column that is not read holds card or bank account numbers. It goes no further; it should not be in the export.',
  EMAIL_ROLE_SHARE: 'More than 1 % of the rows have an address of a role or an example.',
  MOST_CHANGED: 'More than half of the synced products changed since the last sync.',
  PRICE_MOVED: 'Prices moved by more than a percentage against what was synced (guards.max_price_change_percent, 50).',
  OUT_OF_STOCK_ROSE: 'More products than allowed went out of stock since the last sync (guards.max_out_of_stock_percent, 10).',
} as const
export type QualityCode = keyof typeof qualityCodes

/** Notes that withhold the run by themselves, until guards.accept names them (bad-inputs 91, 110, 119, 131, 190, 201). */
export const heldCodes: readonly string[] = [
  'OUT_OF_STOCK_ROSE',
  'EMAIL_ROLE_SHARE',
  'IDENTIFIER_SHARE',
  'OWNER_COLUMN',
  'CONSENT_UNMAPPED',
  'CONSENT_UNKNOWN',
  'LEFT_UNMAPPED',
]

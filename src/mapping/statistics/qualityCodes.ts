/** Codes of the notes on a source, a run or the changes of a run, and what each does. */

import type { WarningSummary } from '../../model/report.ts'
import type { RecordCode } from '../rejectCodes.ts'

/** Properties of a note by its code. */
interface NoteProperties {
  /** For docs/rejects.md. */
  readonly meaning: string
  /** True: withholds a run by default. A code in `guards.accept` does not. */
  readonly withholds?: true
  /** Correction of the source or the pipeline; default `check the source`. */
  readonly correction?: string
  /** True: is about one run, or about changes since an earlier run. A run with unchanged sources does not repeat it. */
  readonly ofOneRun?: true
  /** True: is created after the guards, so it cannot withhold a run. */
  readonly isLate?: true
}

export const qualityCodes = {
  GROUP_LARGE: { meaning: 'More than 100 products share one item_group_id. It is often a placeholder.' },
  GROUP_SAME: {
    meaning: 'All products, 20 or more, have the same item_group_id. The service would show them as variants of one product.',
    withholds: true,
  },
  ALL_OUT_OF_STOCK: { meaning: 'All products, 100 or more, are out of stock.' },
  CURRENCIES_MIXED: { meaning: 'Prices have several currencies.' },
  BRAND_SAME: { meaning: 'All products, 100 or more, have the same brand. It is often a placeholder.' },
  MOJIBAKE: { meaning: 'Some texts contain characters of a wrong encoding, such as Ã© for é.' },
  ENCODING_DOUBTFUL: {
    meaning: 'More than 5 % of the products contain wrongly decoded text (of fewer than 100 products: more than half).',
    withholds: true,
    correction: 'set source: { encoding: … } to the encoding of the file (sluice init detects it)',
  },
  IDENTIFIER_REPEATED: { meaning: 'One identifier is on more than 50 rows.' },
  IDENTIFIER_SHARE: { meaning: 'More than 30 % of the members (of 100 or more) have the same identifier.', withholds: true },
  FILL_RATE_FELL: { meaning: 'One type of identifier is on a far smaller share of the members than in the last run.', ofOneRun: true },
  OPT_OUTS_FELL: {
    meaning:
      'Less than half as many rows opt out as in the last complete read, and more people would be sent. The usual cause is a new spelling of the values in the consent column.',
    withholds: true,
    correction: 'compare the values of the consent column with those in the pipeline',
    ofOneRun: true,
  },
  OPT_OUTS_UNREAD: {
    meaning:
      'The end of a source is not proven, or one of several sources lost most of its rows. Fewer rows opt out than in the last complete read. The rows that were not read may say no.',
    withholds: true,
    correction: 'run again when the file is complete',
    ofOneRun: true,
  },
  COLUMN_VANISHED: { meaning: 'A column of the last run is no longer in the source.', ofOneRun: true },
  GROUP_OF_ITSELF: { meaning: 'Some products have their own id as item_group_id.' },
  PERSONAL_COLUMN: { meaning: 'A column contains what looks like card or bank account numbers. If it does, remove it from the export.' },
  EMAIL_ROLE_SHARE: {
    meaning: 'More than 1 % of the rows (of 100 or more) have a role address such as info@, or an example address.',
    withholds: true,
  },
  MOST_CHANGED: { meaning: 'More than half of the products changed since the last sync.', ofOneRun: true },
  IDS_CHANGED: {
    meaning:
      'More than half of the products of the last sync are missing. There are also new ids, more than half as many as all its products. The usual cause is another id column.',
    withholds: true,
    correction: 'set map: { id: … } to the column of the earlier ids',
    ofOneRun: true,
  },
  PEOPLE_CHANGED: {
    meaning:
      'More than half of the synced people would be removed, and many new people sent. The usual causes are a wrong file and a reversed test of consent.',
    withholds: true,
    correction: 'check that it is the right file, and the tests of consent:',
  },
  PRICE_MOVED: { meaning: 'Prices changed by more than guards.max_price_change_percent (default 50).', ofOneRun: true },
  LINKS_DOUBTFUL: {
    meaning: 'More than half of the links of the last sync changed to a new host, or to one common address.',
    withholds: true,
    correction: 'check the links of the source',
    ofOneRun: true,
  },
  PRICES_DOUBTFUL: {
    meaning: 'More than 10 % of the synced prices became zero, 100 or 1,000 times as high or as low, or changed only their currency.',
    withholds: true,
    correction: 'check the prices and currencies of the source',
    ofOneRun: true,
  },
  OTHER_PIPELINE: {
    meaning:
      'The last read for this destination was of another pipeline. Each of the two deletes what the other sends. After a pipeline is renamed, this note appears once.',
    ofOneRun: true,
  },
  DESTINATION_CHANGED: {
    meaning:
      'The pipeline wrote to another destination before. No run updates that destination any more or removes content from it, not even people who opt out.',
    ofOneRun: true,
  },
  PAUSE_ELSEWHERE: {
    meaning: 'The pipeline is paused for the destination that it wrote to before. The pause does not apply to the present one.',
    withholds: true,
    correction: 'ask who paused it',
    ofOneRun: true,
  },
  ROWS_ERODED: {
    meaning: 'Valid rows fell by more than half within a day, in several steps that were each too small for a guard.',
    ofOneRun: true,
  },
  DO_NOT_REACH_UNREAD: {
    meaning: 'A do-not-reach pipeline of the same account was never read, so people on its list are sent.',
    ofOneRun: true,
  },
  SANDBOX_REPLACED: {
    meaning:
      'The sandbox was started again without its state, so its synced content is gone. `sluice run PIPELINE --full` sends everything again.',
    ofOneRun: true,
  },
  IDENTIFIER_UNMAPPED: {
    meaning:
      'A column that is not mapped contains email addresses or phone numbers. Without it, these people, or one of their identifiers, are not sent.',
    withholds: true,
  },
  IMAGE_BROKEN: {
    meaning: 'Image links of some products are broken. options.image_sample sets how many links are checked, after everything was sent.',
    ofOneRun: true,
    isLate: true,
  },
  PLAN_APPLIED: { meaning: 'The plan was applied before, so this run sent nothing.', isLate: true },
  OUT_OF_STOCK_ROSE: {
    meaning: 'More products than guards.max_out_of_stock_percent (default 10) allows went out of stock since the last sync.',
    withholds: true,
    ofOneRun: true,
  },
} as const satisfies Record<string, NoteProperties>
export type QualityCode = keyof typeof qualityCodes

/** Returns a note on a source or a run as a whole. `count`: by default 1. */
export function noteOf(
  code: QualityCode | RecordCode,
  message: string,
  { field = '', count = 1, lines = [] }: Partial<Pick<WarningSummary, 'field' | 'count' | 'lines'>> = {},
): WarningSummary {
  return { code, field, message, count, lines }
}

/** Warnings on records that withhold a run by default, and how to correct the pipeline. */
const withholdingWarnings: Readonly<Record<string, string | undefined>> = {
  OWNER_COLUMN: undefined,
  CONSENT_UNMAPPED: undefined,
  CONSENT_UNKNOWN: undefined,
  FILTER_UNKNOWN: 'correct the column under only: or except:',
  EXPIRY_UNKNOWN: 'correct the column of expires_at',
  LEFT_UNMAPPED: undefined,
} satisfies Partial<Record<RecordCode, string | undefined>>

/** Returns the properties of a note, and none for another code. */
export function notePropertiesOf(code: string): Partial<NoteProperties> {
  return Object.hasOwn(qualityCodes, code) ? qualityCodes[code as QualityCode] : {}
}

/** Returns true if a note or warning withholds a run by default (docs/inputs.md, cases 12, 91, 110, 119, 131, 150, 190 and 201). */
export function withholdsByDefault(code: string): boolean {
  return notePropertiesOf(code).withholds ?? Object.hasOwn(withholdingWarnings, code)
}

/** Returns how to correct what a withholding note or warning reports. */
export function correctionOf(code: string): string {
  return notePropertiesOf(code).correction ?? withholdingWarnings[code] ?? 'check the source'
}

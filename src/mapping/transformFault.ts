import { redactPersonalData } from './mask.ts'
import type { Fault } from '../model/record.ts'
import { hintOf } from './rejectCodes.ts'
import type { TransformFault } from './transforms.ts'

/**
 * Converts the failure of a transform to the fault `TRANSFORM_FAILED` of a row. The message contains the field and its columns. If the
 * field is not known, the name of the transform replaces it.
 */
export function transformFault({ transform, message, place }: TransformFault): Fault {
  const columns = place === undefined ? [] : place.columns.map((column) => `"${redactPersonalData(column)}"`)
  const field = place?.field ?? transform
  return {
    code: 'TRANSFORM_FAILED',
    field,
    message: `${field}: the value${columns.length === 0 ? '' : ` of ${columns.join(', ')}`} ${message} (${transform})`,
    hint: hintOf('TRANSFORM_FAILED'),
  }
}

/** Endpoints of account media and the media library (spec 2.4, 4.4, 8). */
import type { Endpoint } from './endpoint.ts'
import { creativeTypes, mediaTypes } from './creativeResources.ts'
import { count200, cursor, idFilter, query, sortBy, withDeleted, withTotalCount } from './parameter.ts'
import { recordsOfAccount } from './recordEndpoints.ts'

const libraryTexts = [
  query('description', 'string', { maxLength: 200, unsettable: true, source: 'spec 4.4; spec 8 media library; video only' }),
  query('file_name', 'string', { maxLength: 255, unsettable: true, source: 'spec 8 media library' }),
  query('name', 'string', { maxLength: 100, unsettable: true, source: 'spec 8 media library' }),
  query('poster_media_key', 'string', { unsettable: true, source: 'spec 4.4: video only, default the first frame' }),
  query('title', 'string', { maxLength: 70, unsettable: true, source: 'spec 4.4; spec 8 media library; video only' }),
] as const

const accountMedia = recordsOfAccount('accountMedia', 'account_media', 'account_media_id', 'accountMedia')
const mediaLibrary = recordsOfAccount('mediaLibrary', 'media_library', 'media_key', 'mediaLibraryObject')

export const mediaEndpoints = [
  {
    ...accountMedia.list([
      idFilter('account_media_ids'),
      count200,
      query('creative_types', 'csv-enum', { values: creativeTypes, source: 'spec 2.4' }),
      cursor,
      sortBy,
      withDeleted,
      withTotalCount,
    ]),
    source: 'spec 4.4',
  },
  { ...accountMedia.get([withDeleted]), source: 'spec 4.4' },
  { ...accountMedia.delete, source: 'spec 4.4' },
  {
    ...mediaLibrary.list([
      query('count', 'integer', { default: 20, min: 1, max: 50, source: 'spec 8: media library 1 to 50' }),
      cursor,
      query('media_type', 'enum', { values: mediaTypes, source: 'spec 2.4' }),
      query('q', 'string', { minLength: 1, maxLength: 255, source: 'spec 8 media library q' }),
    ]),
    source: 'spec 4.4',
  },
  { ...mediaLibrary.get([]), source: 'spec 4.4' },
  {
    ...mediaLibrary.create([query('media_key', 'string', { required: true, source: 'spec 4.4' }), ...libraryTexts]),
    rules: [
      { kind: 'other', text: '`description`, `poster_media_key` and `title` are for video only', source: 'spec 4.4' },
      { kind: 'other', text: 'a video of category AMPLIFY_VIDEO becomes PREROLL account media', source: 'spec 3.3' },
    ],
    source: 'spec 4.4',
  },
  {
    ...mediaLibrary.update(libraryTexts),
    rules: [{ kind: 'other', text: '`description`, `poster_media_key` and `title` are for video only', source: 'spec 4.4' }],
    source: 'spec 4.4',
  },
  { ...mediaLibrary.delete, source: 'spec 4.4' },
] as const satisfies readonly Endpoint[]

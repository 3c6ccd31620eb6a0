/** Endpoints of account media and the media library (spec 2.4, 4.4, 8). */
import { accountPath, readRequest, type Endpoint } from './endpoint.ts'
import { creativeTypes, mediaTypes } from './creativeResources.ts'
import { accountId, count200, cursor, idFilter, path, query, sortBy, withDeleted, withTotalCount } from './parameter.ts'
import { createOne, deleteOne, readMany, readOne, updateOne } from './recordEndpoints.ts'

const libraryTexts = [
  query('description', 'string', { maxLength: 200, unsettable: true, source: 'spec 4.4; spec 8 media library; video only' }),
  query('file_name', 'string', { maxLength: 255, unsettable: true, source: 'spec 8 media library' }),
  query('name', 'string', { maxLength: 100, unsettable: true, source: 'spec 8 media library' }),
  query('poster_media_key', 'string', { unsettable: true, source: 'spec 4.4: video only, default the first frame' }),
  query('title', 'string', { maxLength: 70, unsettable: true, source: 'spec 4.4; spec 8 media library; video only' }),
] as const

export const mediaEndpoints = [
  {
    ...readMany('accountMedia.list', 'account_media', 'accountMedia', [
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
  { ...readOne('accountMedia.get', 'account_media', 'account_media_id', 'accountMedia'), source: 'spec 4.4' },
  { ...deleteOne('accountMedia.delete', 'account_media', 'account_media_id', 'accountMedia'), source: 'spec 4.4' },
  {
    ...readMany('mediaLibrary.list', 'media_library', 'mediaLibraryObject', [
      query('count', 'integer', { default: 20, min: 1, max: 50, source: 'spec 8: media library 1 to 50' }),
      cursor,
      query('media_type', 'enum', { values: mediaTypes, source: 'spec 2.4' }),
      query('q', 'string', { minLength: 1, maxLength: 255, source: 'spec 8 media library q' }),
    ]),
    source: 'spec 4.4',
  },
  {
    name: 'mediaLibrary.get',
    ...readRequest,
    path: `${accountPath}/media_library/:media_key`,
    parameters: [accountId, path('media_key')],
    answer: { resource: 'mediaLibraryObject', many: false },
    source: 'spec 4.4',
  },
  {
    ...createOne('mediaLibrary.create', 'media_library', 'mediaLibraryObject', [
      query('media_key', 'string', { required: true, source: 'spec 4.4' }),
      ...libraryTexts,
    ]),
    rules: [
      { kind: 'other', text: '`description`, `poster_media_key` and `title` are for video only', source: 'spec 4.4' },
      { kind: 'other', text: 'a video of category AMPLIFY_VIDEO becomes PREROLL account media', source: 'spec 3.3' },
    ],
    source: 'spec 4.4',
  },
  {
    ...updateOne('mediaLibrary.update', 'media_library', 'media_key', 'mediaLibraryObject', [...libraryTexts]),
    rules: [{ kind: 'other', text: '`description`, `poster_media_key` and `title` are for video only', source: 'spec 4.4' }],
    source: 'spec 4.4',
  },
  { ...deleteOne('mediaLibrary.delete', 'media_library', 'media_key', 'mediaLibraryObject'), source: 'spec 4.4' },
] as const satisfies readonly Endpoint[]

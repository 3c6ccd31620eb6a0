/** Checks the components of a card and derives the card's type from them (spec 2.4, 4.4). */
import { buttonLabels } from '../../service/contract/creativeResources.ts'
import { isPlainRecord, listOf } from '../../unknownValue.ts'
import { isCountryCode } from '../countries.ts'
import { adsRefusals, invalidParameter, missingParameter, type AdsError } from '../refusal.ts'
import { mediaKind } from './mediaKeys.ts'
import type { Component } from './state.ts'

/** Checked content of a card, with the type that is derived from the content. With `slides`, `components` is empty. */
export interface CardContent {
  readonly components: readonly Component[]
  readonly slides?: readonly (readonly Component[])[]
  readonly card_type: string
}

type MediaType = 'IMAGE' | 'VIDEO' | 'MIXED_MEDIA'
/** Contribution of a media component to the card's type. */
interface MediaPart {
  readonly media: MediaType
  readonly swipeable: boolean
}
/** Contribution of a DETAILS or BUTTON component to the card's type. */
interface DestinationPart {
  readonly destination: 'WEBSITE' | 'APP'
}

/**
 * Checks the slides of a card, or its components if it has no slides. Derives the type of the card. `strict`: refuses `media_metadata`,
 * which is otherwise removed.
 *
 * @throws {Refusal} with the errors and their places
 */
export function readCardContent(input: { readonly components?: unknown; readonly slides?: unknown }, strict: boolean): CardContent {
  return hasNoSlides(input) ? readComponents(withoutMetadata(input.components, strict)) : readSlides(withoutMetadata(input.slides, strict))
}

/** Returns the media keys of a card with their places, such as `components[0].media_key`. */
export function mediaKeyPlaces({
  components,
  slides,
}: Pick<CardContent, 'components' | 'slides'>): { readonly key: string; readonly place: string }[] {
  if (slides !== undefined) return slides.flatMap((slide, index) => placesIn(slide, `slides[${index}]`))
  return placesIn(components, 'components')
}

function placesIn(components: readonly Component[], list: string): { readonly key: string; readonly place: string }[] {
  return components.flatMap((component, index) => {
    const place = `${list}[${index}]`
    const { media_key: key, media_keys: keys } = component
    if (typeof key === 'string') return [{ key, place: `${place}.media_key` }]
    return Array.isArray(keys) ? keys.map((one: unknown) => ({ key: String(one), place: `${place}.media_keys` })) : []
  })
}

/** Returns true if the card has no slides. Clients may send an empty list of slides with the components of a card. */
function hasNoSlides({ components, slides }: { readonly components?: unknown; readonly slides?: unknown }): boolean {
  return slides === undefined || slides === null || (Array.isArray(slides) && slides.length === 0 && Array.isArray(components))
}

/** Removes `media_metadata` from components, unless `strict`. The service sets this field, and official SDKs send it back. */
function withoutMetadata(value: unknown, strict: boolean): unknown {
  if (strict) return value
  if (Array.isArray(value)) return value.map((item: unknown) => withoutMetadata(item, strict))
  if (!isPlainRecord(value) || !('media_metadata' in value)) return value
  const { media_metadata: _, ...rest } = value
  return rest
}

function readComponents(value: unknown): CardContent {
  const errors: AdsError[] = []
  const classified = classify(value, 'components', errors)
  if (errors.length > 0 || classified === undefined) throw adsRefusals(errors)
  const carousel = classified.swipeable ? (classified.media === 'MIXED_MEDIA' ? '_SINGLE_DEST_CAROUSEL' : '_CAROUSEL') : ''
  return { components: listOf(value).filter(isPlainRecord), card_type: `${classified.media}${carousel}_${classified.destination}` }
}

/** Checks the slides of a multi-destination carousel. @throws {Refusal} */
function readSlides(value: unknown): CardContent {
  const errors: AdsError[] = []
  if (!Array.isArray(value) || value.length < 2 || value.length > 6)
    throw adsRefusals([invalidParameter('slides', 'an array of 2 to 6 slides', value)])
  const slides = value.map((slide, index) => {
    const classified = classify(slide, `slides[${index}]`, errors)
    if (classified?.swipeable === true || classified?.destination === 'APP')
      errors.push(invalidParameter(`slides[${index}]`, 'one MEDIA and one DETAILS component', slide))
    return classified
  })
  if (errors.length > 0) throw adsRefusals(errors)
  return {
    components: [],
    slides: value.map((slide) => listOf(slide).filter(isPlainRecord)),
    card_type: `${commonType(slides.map((slide) => slide?.media ?? 'IMAGE'))}_MULTI_DEST_CAROUSEL_WEBSITE`,
  }
}

/**
 * Checks a list of components. Returns the properties that determine the card's type. If something is wrong, adds an error to `errors` and
 * returns undefined.
 */
function classify(value: unknown, place: string, errors: AdsError[]): (MediaPart & DestinationPart) | undefined {
  const errorCountBefore = errors.length
  if (!Array.isArray(value)) return void errors.push(invalidParameter(place, 'an array of components', value))
  const parts = value.map((component: unknown, index) => readComponent(component, `${place}[${index}]`, errors))
  if (errors.length > errorCountBefore) return undefined
  const [media, ...otherMedia] = parts.filter((part) => part !== undefined && 'media' in part)
  const [destination, ...otherDestinations] = parts.filter((part) => part !== undefined && 'destination' in part)
  if (media !== undefined && destination !== undefined && otherMedia.length === 0 && otherDestinations.length === 0)
    return { ...media, ...destination }
  return void errors.push(invalidParameter(place, 'one media component and either a DETAILS or a BUTTON component', value))
}

/** Checks a component, and returns its contribution to the card's type. Adds what is wrong to `errors`. */
function readComponent(component: unknown, place: string, errors: AdsError[]): MediaPart | DestinationPart | undefined {
  if (!isPlainRecord(component)) return void errors.push(invalidParameter(place, 'a component', component))
  switch (component['type']) {
    case 'MEDIA':
      checkFieldNames(component, ['type', 'media_key'], place, errors)
      return { media: commonType(mediaTypes([component['media_key']], `${place}.media_key`, errors)), swipeable: false }
    case 'SWIPEABLE_MEDIA': {
      checkFieldNames(component, ['type', 'media_keys'], place, errors)
      const keys = component['media_keys']
      if (keys === undefined) return void errors.push(missingParameter(`${place}.media_keys`))
      if (!Array.isArray(keys) || keys.length < 2 || keys.length > 6)
        return void errors.push(invalidParameter(`${place}.media_keys`, '2 to 6 media keys', keys))
      return { media: commonType(mediaTypes(keys, `${place}.media_keys`, errors)), swipeable: true }
    }
    case 'DETAILS':
      checkFieldNames(component, ['type', 'title', 'destination'], place, errors)
      readText(component, 'title', place, errors)
      checkWebsite(component['destination'], `${place}.destination`, errors)
      return { destination: 'WEBSITE' }
    case 'BUTTON':
      checkFieldNames(component, ['type', 'label', 'destination'], place, errors)
      checkLabel(component['label'], `${place}.label`, errors)
      checkApp(component['destination'], `${place}.destination`, errors)
      return { destination: 'APP' }
    case undefined:
      return void errors.push(missingParameter(`${place}.type`))
    default:
      return void errors.push(invalidParameter(`${place}.type`, 'MEDIA, SWIPEABLE_MEDIA, DETAILS or BUTTON', component['type']))
  }
}

/** Returns the types of the valid media keys; a GIF counts as an image. Adds an error for each invalid or missing key. */
function mediaTypes(keys: readonly unknown[], place: string, errors: AdsError[]): MediaType[] {
  return keys.flatMap((key) => {
    if (key === undefined) errors.push(missingParameter(place))
    const kind = typeof key === 'string' ? mediaKind(key) : undefined
    if (key !== undefined && kind === undefined) errors.push(invalidParameter(place, 'a media key', key))
    return kind === undefined ? [] : [kind.type === 'VIDEO' ? ('VIDEO' as const) : ('IMAGE' as const)]
  })
}

/** Returns the type that all elements of `types` have, else MIXED_MEDIA. */
function commonType(types: readonly MediaType[]): MediaType {
  const [first] = types
  return first !== undefined && types.every((type) => type === first) ? first : 'MIXED_MEDIA'
}

function checkLabel(label: unknown, place: string, errors: AdsError[]): void {
  if (label === undefined) return void errors.push(missingParameter(place))
  if (!isPlainRecord(label)) return void errors.push(invalidParameter(place, 'a label', label))
  checkFieldNames(label, ['type', 'value'], place, errors)
  if (label['type'] !== 'ENUM') errors.push(invalidParameter(`${place}.type`, 'ENUM', label['type']))
  if (!buttonLabels.some((value) => value === label['value']))
    errors.push(invalidParameter(`${place}.value`, buttonLabels.join(', '), label['value']))
}

function checkWebsite(destination: unknown, place: string, errors: AdsError[]): void {
  if (destination === undefined) return void errors.push(missingParameter(place))
  if (!isPlainRecord(destination) || destination['type'] !== 'WEBSITE')
    return void errors.push(invalidParameter(place, 'a WEBSITE destination', destination))
  checkFieldNames(destination, ['type', 'url'], place, errors)
  const url = readText(destination, 'url', place, errors)
  if (url !== undefined && !/^https?:\/\/\S+$/i.test(url)) errors.push(invalidParameter(`${place}.url`, 'a URL', url))
}

function checkApp(destination: unknown, place: string, errors: AdsError[]): void {
  if (destination === undefined) return void errors.push(missingParameter(place))
  if (!isPlainRecord(destination) || destination['type'] !== 'APP')
    return void errors.push(invalidParameter(place, 'an APP destination', destination))
  checkFieldNames(
    destination,
    ['type', 'country_code', 'googleplay_app_id', 'ios_app_store_identifier', 'googleplay_deep_link', 'ios_deep_link'],
    place,
    errors,
  )
  const country = readText(destination, 'country_code', place, errors)
  if (country !== undefined && !isCountryCode(country))
    errors.push(invalidParameter(`${place}.country_code`, 'an ISO 3166-1 alpha-2 code', country))
  const hasText = (name: string) => typeof destination[name] === 'string' && destination[name] !== ''
  if (!hasText('googleplay_app_id') && !hasText('ios_app_store_identifier')) errors.push(missingParameter(`${place}.googleplay_app_id`))
  for (const [link, app] of [
    ['googleplay_deep_link', 'googleplay_app_id'],
    ['ios_deep_link', 'ios_app_store_identifier'],
  ] as const) {
    if (destination[link] !== undefined && !hasText(app))
      errors.push({ code: 'INCLUSIVE_PARAMETERS', message: `"${link}" is only allowed with "${app}"`, parameter: `${place}.${link}` })
  }
}

/** Returns the text of a field. Without a text, adds an error to `errors` and returns undefined. */
function readText(object: Readonly<Record<string, unknown>>, name: string, place: string, errors: AdsError[]): string | undefined {
  const value = object[name]
  if (value === undefined || value === null || value === '') errors.push(missingParameter(`${place}.${name}`))
  else if (typeof value !== 'string') errors.push(invalidParameter(`${place}.${name}`, 'string', value))
  else return value
  return undefined
}

function checkFieldNames(object: Readonly<Record<string, unknown>>, names: readonly string[], place: string, errors: AdsError[]): void {
  for (const name of Object.keys(object))
    if (!names.includes(name)) errors.push(invalidParameter(`${place}.${name}`, `one of ${names.join(', ')}`, object[name]))
}

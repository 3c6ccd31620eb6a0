type WithoutUndefined<Given> = {
  readonly [Key in keyof Given as undefined extends Given[Key] ? never : Key]: Given[Key]
} & {
  readonly [Key in keyof Given as undefined extends Given[Key] ? Key : never]?: Exclude<Given[Key], undefined>
}

/** Returns a copy without the properties that are undefined, in the same order. */
export function withoutUndefined<Given extends object>(given: Given): WithoutUndefined<Given> {
  // The cast holds because only properties that are optional in the result are left out.
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as WithoutUndefined<Given>
}

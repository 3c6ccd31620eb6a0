/** Codes of product sets, for docs/errors.md (docs/pipelines.md#product-sets). */

export const productSetCodes = {
  title: 'Product sets',
  note: 'Exit code 3; the code is with the set in `productSets`. Products and other sets are sent normally.',
  codes: {
    PRODUCT_SET_NAME_TAKEN: {
      meaning: 'The catalog has a set of this name that Sluice did not create. It is left as it is, and no second one is created.',
      hint: 'Choose another name in `product_sets`, or delete that set at the service.',
    },
    PRODUCT_SET_UNRESOLVED: {
      meaning: 'The service did not answer a request about the set, which may have been carried out.',
      hint: '`sluice run PIPELINE` looks for the set and continues.',
    },
    PRODUCT_SET_TOO_LARGE: {
      meaning: 'A brand has more products than a set without filters takes. The set stays as it was.',
      hint: 'Map the brand to a custom label (`custom_label_4: brand`) and write the rule for that label.',
    },
    PRODUCT_SET_EMPTY: {
      meaning: 'The catalog has no confirmed product of the brand. A set that exists stays as it was.',
      hint: 'Correct the brand in `product_sets`, or remove the set from the file.',
    },
  },
} as const

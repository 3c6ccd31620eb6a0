import type { Preset } from './preset.ts'

/** Customers of a WooCommerce shop. WooCommerce exports no consent: add `consent:` if the shop records one. */
export const woocommerce: Preset = {
  name: 'woocommerce',
  title: 'WooCommerce customer export',
  records: 'members',
  typicalColumns: [
    'customer_id',
    'user_login',
    'first_name',
    'last_name',
    'user_email',
    'user_registered',
    'billing_email',
    'billing_phone',
    'billing_country',
    'billing_postcode',
    'shipping_phone',
    'shipping_country',
    'total_spent',
    'order_count',
  ],
  identifyingColumns: ['customer_id', 'billing_email', 'billing_phone'],
  map: {
    key: { columns: ['customer_id'] },
    email: { columns: ['user_email', 'billing_email'] },
    phone_number: { columns: ['billing_phone', 'shipping_phone'], defaultCountry: ['billing_country'] },
  },
}

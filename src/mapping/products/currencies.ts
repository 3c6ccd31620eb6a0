/** ISO 4217 codes (list of January 2026). Leaves out codes without a number of decimals, such as that of gold. */

const twoDecimals =
  'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG'
const otherDecimals = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
}

/** Active currency code → number of decimals of its amounts. */
export const currencyDecimals: ReadonlyMap<string, number> = new Map([
  ...twoDecimals.split(' ').map((code) => [code, 2] as const),
  ...Object.entries(otherDecimals).flatMap(([decimals, codes]) => codes.split(' ').map((code) => [code, Number(decimals)] as const)),
])

/** Retired code → month in which ISO 4217 withdrew it. Old feeds still use them (docs/inputs.md, case 159). */
export const retiredCurrencies: ReadonlyMap<string, string> = new Map([
  ['BGN', '2026-01'],
  ['ANG', '2025-03'],
  ['ZWL', '2024-08'],
  ['SLL', '2023-12'],
  ['HRK', '2023-01'],
  ['CUC', '2021-06'],
  ['VEF', '2018-08'],
  ['BYR', '2017-01'],
  ['MRO', '2017-12'],
  ['STD', '2017-12'],
  ['LTL', '2014-12'],
  ['LVL', '2013-12'],
  ['ZMK', '2012-12'],
  ['EEK', '2010-12'],
  ['SKK', '2008-12'],
  ['CYP', '2007-12'],
  ['MTL', '2007-12'],
  ['SIT', '2006-12'],
  ['ROL', '2005-06'],
  ['TRL', '2005-12'],
  ['RUR', '2004-01'],
  ['DEM', '2002-03'],
  ['FRF', '2002-03'],
  ['ITL', '2002-03'],
  ['ESP', '2002-03'],
  ['ATS', '2002-03'],
  ['BEF', '2002-03'],
  ['NLG', '2002-03'],
  ['PTE', '2002-03'],
  ['FIM', '2002-03'],
  ['GRD', '2002-03'],
  ['IEP', '2002-03'],
  ['LUF', '2002-03'],
])

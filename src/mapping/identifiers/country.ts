import { phoneMetadata } from './phoneLibrary.ts'

let codes: ReadonlyMap<string, string> | undefined

// Three-letter and two-letter code of each country with a calling code: `DEUDE`. Codes of ISO 3166-1, and of Kosovo.
const codePairs =
  'ABWAW AFGAF AGOAO AIAAI ALAAX ALBAL ANDAD AREAE ARGAR ARMAM ASMAS ATGAG AUSAU AUTAT AZEAZ BDIBI BELBE BENBJ BESBQ BFABF BGDBD BGRBG BHRBH BHSBS BIHBA BLMBL BLRBY BLZBZ BMUBM BOLBO BRABR BRBBB BRNBN BTNBT BWABW CAFCF CANCA CCKCC CHECH CHLCL CHNCN CIVCI CMRCM CODCD COGCG COKCK COLCO COMKM CPVCV CRICR CUBCU CUWCW CXRCX CYMKY CYPCY CZECZ DEUDE DJIDJ DMADM DNKDK DOMDO DZADZ ECUEC EGYEG ERIER ESHEH ESPES ESTEE ETHET FINFI FJIFJ FLKFK FRAFR FROFO FSMFM GABGA GBRGB GEOGE GGYGG GHAGH GIBGI GINGN GLPGP GMBGM GNBGW GNQGQ GRCGR GRDGD GRLGL GTMGT GUFGF GUMGU GUYGY HKGHK HNDHN HRVHR HTIHT HUNHU IDNID IMNIM INDIN IOTIO IRLIE IRNIR IRQIQ ISLIS ISRIL ITAIT JAMJM JEYJE JORJO JPNJP KAZKZ KENKE KGZKG KHMKH KIRKI KNAKN KORKR KWTKW LAOLA LBNLB LBRLR LBYLY LCALC LIELI LKALK LSOLS LTULT LUXLU LVALV MACMO MAFMF MARMA MCOMC MDAMD MDGMG MDVMV MEXMX MHLMH MKDMK MLIML MLTMT MMRMM MNEME MNGMN MNPMP MOZMZ MRTMR MSRMS MTQMQ MUSMU MWIMW MYSMY MYTYT NAMNA NCLNC NERNE NFKNF NGANG NICNI NIUNU NLDNL NORNO NPLNP NRUNR NZLNZ OMNOM PAKPK PANPA PERPE PHLPH PLWPW PNGPG POLPL PRIPR PRKKP PRTPT PRYPY PSEPS PYFPF QATQA REURE ROURO RUSRU RWARW SAUSA SDNSD SENSN SGPSG SHNSH SJMSJ SLBSB SLESL SLVSV SMRSM SOMSO SPMPM SRBRS SSDSS STPST SURSR SVKSK SVNSI SWESE SWZSZ SXMSX SYCSC SYRSY TCATC TCDTD TGOTG THATH TJKTJ TKLTK TKMTM TLSTL TONTO TTOTT TUNTN TURTR TUVTV TWNTW TZATZ UGAUG UKRUA URYUY USAUS UZBUZ VATVA VCTVC VENVE VGBVG VIRVI VNMVN VUTVU WLFWF WSMWS XKXXK YEMYE ZAFZA ZMBZM ZWEZW'

/**
 * Returns the two-letter code of a country: `de`, `DE`, `DEU`, `Germany` → `DE`; `UK` → `GB`. Returns any other text in upper case: check
 * it with `hasNumberingPlan`.
 */
export function countryCode(text: string): string {
  if (text.length === 2) return otherCodes[text.toUpperCase()] ?? text.toUpperCase()
  codes ??= codesByName()
  return codes.get(text.toLowerCase()) ?? text.toUpperCase()
}

/** Codes for the United Kingdom and Greece that are not those of ISO 3166, but are often used. */
const otherCodes: Readonly<Record<string, string>> = { UK: 'GB', EL: 'GR' }

/** Returns two-letter codes by lower-case name: English names of `Intl`, three-letter codes, and other names in exports. */
function codesByName(): ReadonlyMap<string, string> {
  const display = new Intl.DisplayNames('en', { type: 'region' })
  const names = Object.keys(phoneMetadata().countries).map((code) => [(display.of(code) ?? code).toLowerCase(), code] as const)
  return new Map<string, string>([
    ...names,
    ...codePairs.split(' ').map((pair) => [pair.slice(0, 3).toLowerCase(), pair.slice(3)] as const),
    ['united states of america', 'US'],
    ['great britain', 'GB'],
    ['england', 'GB'],
    ['turkey', 'TR'],
    ['czech republic', 'CZ'],
    ['uae', 'AE'],
    ['south korea', 'KR'],
    ['deutschland', 'DE'],
  ])
}

/**
 * Column names of shops and CRMs in several languages, for suggestions (docs/inputs.md, cases 176 and 210). This table alone
 * maps no column, except that of the currency.
 */

/**
 * Field → column names as `foldedName` returns them, in order of preference. `currency` and `default_country` are not fields of a record.
 * Their columns complete a price or a phone number.
 */
const columnNamesByField: Readonly<Record<string, string>> = {
  id: 'productid itemid offerid sku articleid articlenumber artikelnummer artikelnr artnr productnumber productcode itemnumber code reference referencia ref codigo codice kod urunkodu stokkodu indeks артикул',
  title:
    'name productname producttitle itemtitle itemname productlabel bezeichnung artikelbezeichnung produktname titel titre nom nomproduit nombre titulo nome titolo naam nazwa nazwaproduktu tytul urunadi baslik название наименование',
  description:
    'body bodyhtml longdescription productdescription shortdescription descriptionhtml summary content text details beschreibung artikelbeschreibung langtext descriptif descripcion descricao descrizione omschrijving beschrijving opis aciklama описание',
  link: 'url producturl finalurl deeplink productlink itemurl landingpage permalink weblink webpage lien lienproduit enlace collegamento link1 adres urunlinki ссылка',
  image_link:
    'image imageurl imagelink imagesrc images mainimage picture pictureurl photo img thumbnail bild bildurl bildlink produktbild imageprincipale imagen urlimagen imagem immagine afbeelding zdjecie resim изображение',
  additional_image_link: 'additionalimages moreimages gallery galleryimages images2 weiterebilder',
  availability:
    'stockstatus instock availabilitystatus stock stocklevel quantity qty inventory inventoryquantity onhand verfugbarkeit bestand lagerbestand lager menge disponibilite stockdisponible disponibilidad existencias disponibilidade disponibilita giacenza voorraad beschikbaarheid dostepnosc stan stok stokdurumu наличие',
  condition: 'itemcondition productcondition zustand etat estado condizione staat kondycja durum состояние',
  price:
    'regularprice productprice saleprice1 unitprice listprice amount pricevalue priceamount preis verkaufspreis vk bruttopreis prix prixttc precio preco prezzo prijs cena fiyat fiyati цена',
  sale_price:
    'specialprice offerprice discountprice angebotspreis aktionspreis sonderpreis prixpromo preciooferta prezzoscontato indirimlifiyat',
  brand: 'vendor manufacturer make marke hersteller marque fabricant marca fabricante merk marka producent uretici бренд',
  gtin: 'ean ean13 upc barcode gtin13 eancode isbn jan eannummer codigodebarras codebarres barkod штрихкод',
  mpn: 'manufacturerpartnumber partnumber herstellernummer',
  product_type: 'category categories productcategory kategorie warengruppe categorie categoria kategoria kategori категория',
  item_group_id: 'parentid parentsku groupid variantgroup parent',
  color: 'colour farbe couleur kleur kolor renk cor colore цвет',
  size: 'grosse taille talla tamano taglia maat rozmiar beden размер',
  inventory: 'stock quantity qty bestand lagerbestand stockquantity availablequantity onhand',
  currency: 'currencycode pricecurrency pricecurrencycode currencyid wahrung devise moneda moeda valuta waluta parabirimi валюта',
  default_country: 'country countrycode countryregion countryiso iso2 billingcountry mailingcountry land pays pais paese kraj ulke страна',
  key: 'id customerid contactid recordid userid personid memberid subscriberid clientid customernumber kundennummer kundennr kundenid idclient numeroclient idcliente codicecliente klantnummer numerklienta musterino',
  email:
    'mail emailaddress emailid contactemail customeremail primaryemail billingemail email1 email1value email1address homeemail workemail useremail mailaddress emailadresse mailadresse courriel adressemail adresseemail correo correoelectronico emailadres adresemail eposta почта',
  phone_number:
    'phone mobile mobilephone phonenumber mobilephonenumber primaryphone billingphone shippingphone homephone workphone defaultphone customerphone phone1 phone1value cell cellphone telephone tel contactnumber whatsapp sms telefon telefonnummer handy mobil mobilnummer rufnummer portable mobiltelefon telefono movil celular cellulare telefoon gsm numertelefonu telefonnumarasi cep телефон',
  device_id: 'idfa gaid aaid adid advertisingid madid maid mobileadid',
  handle: 'username screenname',
  partner_user_id: 'externalid loyaltyno loyaltynumber',
}

/** Column name as `foldedName` returns it → its fields. */
const fieldsByColumnName: ReadonlyMap<string, readonly string[]> = invertNames()

function invertNames(): Map<string, readonly string[]> {
  const fields = new Map<string, readonly string[]>()
  for (const field of Object.keys(columnNamesByField)) {
    for (const name of namesOf(field)) fields.set(name, [...(fields.get(name) ?? []), field])
  }
  return fields
}

/** Returns the column names of a field, its own name first. */
function namesOf(field: string): readonly string[] {
  return [foldedName(field), ...(columnNamesByField[field]?.split(' ') ?? [])]
}

/** Returns the letters and digits of a name in lower case, without accents: `E-Mail-Adresse` → `emailadresse`, `Größe` → `grosse`. */
function foldedName(column: string): string {
  return (
    column
      .toLowerCase()
      // NFKD does not decompose these three.
      .replaceAll('ß', 'ss')
      .replaceAll('ı', 'i')
      .replaceAll('ł', 'l')
      .normalize('NFKD')
      .replace(/[^\p{L}\p{N}]/gu, '')
  )
}

/** Returns the fields that usually have a column of this name. */
export function fieldsForColumn(column: string): readonly string[] {
  return fieldsByColumnName.get(foldedName(column)) ?? []
}

/** Returns the column whose name comes first in the field's list of usual names; undefined if no column has one. */
export function columnForField(field: string, columns: readonly string[]): string | undefined {
  const names = namesOf(field)
  return columns
    .map((column) => ({ column, rank: names.indexOf(foldedName(column)) }))
    .filter(({ rank }) => rank >= 0)
    .sort((a, b) => a.rank - b.rank)[0]?.column
}

import { parse, type ParseResult } from 'libpg-query'
import type { Captured } from './read.ts'

/** Statement that schema-based sharding would reject, or gather on the coordinator. */
export interface Finding {
  readonly rule: Rule
  readonly detail: string
  /** Temporary tables of the statement. */
  readonly temporary: readonly string[]
  readonly sender: string
  readonly text: string
}

export type Rule = 'schemas' | 'temporary' | 'volatile' | 'key' | 'position'

/** Columns of each unique key (primary keys, unique constraints, unique indexes) by table. */
export type UniqueKeys = ReadonlyMap<string, readonly (readonly string[])[]>

/** Functions of Postgres that return another result at each call. Times are parameters, or `statement_timestamp()`, which is stable. */
const volatileFunctions = new Set([
  'clock_timestamp',
  'timeofday',
  'random',
  'random_normal',
  'gen_random_uuid',
  'uuidv4',
  'uuidv7',
  'nextval',
  'setval',
])

const catalogs = new Set(['pg_catalog', 'information_schema', 'pg_temp'])

/** Returns the findings of the rules of schema-based sharding. DDL is left out: migrations run once, on the coordinator. */
export async function lintStatements(statements: readonly Captured[], keys: UniqueKeys): Promise<readonly Finding[]> {
  const own = statements.filter(({ sender }) => !isFromOutside(sender))
  const parsed = await Promise.all(own.map(async (statement) => ({ ...statement, tree: await parse(statement.text) })))
  const temporary = new Set(parsed.flatMap(({ tree }) => factsOf(tree).temporary))
  return parsed.flatMap(({ text, sender, tree }) =>
    [...findingsOf(factsOf(tree), temporary, keys)].map((finding) => ({ temporary: [], ...finding, sender, text })),
  )
}

/**
 * Returns true for a sender of external statements. Sources send the query of a pipeline to the user's database. `jobs/queues.ts` sends
 * statements of pg-boss in our transactions.
 */
function isFromOutside(sender: string): boolean {
  return sender.startsWith('sources/') || sender === 'jobs/queues.ts'
}

/** Facts of one parsed text that the rules need. */
interface Facts {
  /** Names of the temporary tables that it creates. */
  readonly temporary: readonly string[]
  readonly relations: readonly { readonly schema: string | undefined; readonly name: string }[]
  readonly functions: readonly string[]
  readonly conflicts: readonly { readonly table: string; readonly columns: readonly string[] }[]
  readonly modifies: boolean
  readonly definesOnly: boolean
  readonly currentOf: boolean
}

function* findingsOf(
  facts: Facts,
  temporary: ReadonlySet<string>,
  keys: UniqueKeys,
): Generator<Pick<Finding, 'rule' | 'detail'> & Partial<Finding>> {
  if (facts.definesOnly) return
  const stored = facts.relations.filter(({ schema, name }) => !isCatalog(schema, name) && !(schema === undefined && temporary.has(name)))
  const schemas = new Set(stored.map(({ schema }) => schema ?? '(own)'))
  if (schemas.size > 1) yield { rule: 'schemas', detail: `joins schemas ${[...schemas].join(', ')}` }
  const staged = facts.relations.filter(({ schema, name }) => schema === undefined && temporary.has(name))
  if (staged.length > 0 && stored.length > 0)
    yield {
      rule: 'temporary',
      detail: `joins ${names(staged)} of the session with ${names(stored)}`,
      temporary: staged.map(({ name }) => name),
    }
  if (facts.modifies && stored.length > 0)
    for (const name of facts.functions.filter((each) => volatileFunctions.has(each)))
      yield { rule: 'volatile', detail: `modifies ${names(stored)} with ${name}()` }
  for (const { table, columns } of facts.conflicts)
    if (!temporary.has(table) && !keys.get(table)?.some((key) => sameSet(key, columns)))
      yield { rule: 'key', detail: `on conflict (${columns.join(', ')}) names no whole unique key of ${table}` }
  if (facts.currentOf) yield { rule: 'position', detail: 'modifies the current row of a cursor' }
}

function factsOf(tree: ParseResult): Facts {
  const temporary: string[] = []
  const relations: { schema: string | undefined; name: string }[] = []
  const functions: string[] = []
  const conflicts: { table: string; columns: string[] }[] = []
  const defined = new Set<string>()
  let modifies = false
  let currentOf = false
  walk(tree, (type, node) => {
    if (type === 'CommonTableExpr' && typeof node['ctename'] === 'string') defined.add(node['ctename'])
    if (type === 'InsertStmt' || type === 'UpdateStmt' || type === 'DeleteStmt' || type === 'MergeStmt') modifies = true
    if (type === 'CurrentOfExpr') currentOf = true
    if (type === 'FuncCall') functions.push(lastName(node['funcname']))
    if (isRangeVar(type, node)) {
      if (node['relpersistence'] === 't') temporary.push(node['relname'])
      const schema = typeof node['schemaname'] === 'string' ? node['schemaname'] : undefined
      relations.push({ schema, name: node['relname'] })
    }
    if (type === 'InsertStmt' && isNode(node['onConflictClause']) && isNode(node['relation'])) {
      const infer = node['onConflictClause']['infer']
      const elements = isNode(infer) && Array.isArray(infer['indexElems']) ? infer['indexElems'] : []
      const columns = elements.map((element) => indexColumn(element))
      if (columns.length > 0) conflicts.push({ table: String(node['relation']['relname']), columns })
    }
  })
  const types = (tree.stmts ?? []).map(({ stmt }) => Object.keys(stmt ?? {})[0] ?? '')
  return {
    temporary,
    relations: relations.filter(({ schema, name }) => schema !== undefined || !defined.has(name)),
    functions,
    conflicts,
    modifies,
    definesOnly: types.every((type) => !/^(?:Select|Insert|Update|Delete|Merge|Copy|DeclareCursor|CreateTableAs)Stmt$/.test(type)),
    currentOf,
  }
}

type Tree = Readonly<Record<string, unknown>>

/** Visits every object of a syntax tree with the key that names its type. */
function walk(value: unknown, visit: (type: string, node: Tree) => void, type = ''): void {
  if (Array.isArray(value)) for (const each of value) walk(each, visit)
  else if (isNode(value)) {
    visit(type, value)
    for (const [key, each] of Object.entries(value)) walk(each, visit, key)
  }
}

function isNode(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns true for a `RangeVar`. As the target of a statement, it has another key, such as `relation` or `into`. */
function isRangeVar(_type: string, node: Tree): node is Tree & { readonly relname: string } {
  return typeof node['relname'] === 'string' && typeof node['relpersistence'] === 'string'
}

function lastName(path: unknown): string {
  const last: unknown = Array.isArray(path) ? path.at(-1) : undefined
  const text = isNode(last) ? last['String'] : undefined
  return isNode(text) ? String(text['sval']) : ''
}

function indexColumn(element: unknown): string {
  const inner = isNode(element) ? element['IndexElem'] : undefined
  return isNode(inner) && typeof inner['name'] === 'string' ? inner['name'] : '(expression)'
}

function isCatalog(schema: string | undefined, name: string): boolean {
  return (schema !== undefined && catalogs.has(schema)) || (schema === undefined && name.startsWith('pg_'))
}

function names(relations: readonly { readonly name: string }[]): string {
  return [...new Set(relations.map(({ name }) => name))].join(', ')
}

function sameSet(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((each) => right.includes(each))
}

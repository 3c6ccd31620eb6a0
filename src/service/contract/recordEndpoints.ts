/** Creates the endpoints of records: of an account, or below another path. */
import { accountPath, createRequest, deleteRequest, readRequest, updateRequest, type Endpoint } from './endpoint.ts'
import { accountId, path } from './parameter.ts'

type Parameters = Endpoint['parameters']

/** Returns a function that creates the endpoints of records below the path `base`. `shared`: parameters of all these endpoints. */
export const recordsBelow =
  <const Base extends string, const Shared extends Parameters>(base: Base, shared: Shared) =>
  /**
   * Creates the endpoints `GROUP.list`, `GROUP.get` and so on. `segment`: path of the records below `base`. `id`: name of the parameter with
   * the id of a record. `own`: parameters of one endpoint besides `shared` and the id. A contract lists only the endpoints that exist.
   */
  <const Group extends string, const Segment extends string, const Id extends string, const Resource extends string>(
    group: Group,
    segment: Segment,
    id: Id,
    resource: Resource,
  ) => {
    const all = { path: `${base}/${segment}`, answer: { resource, many: false } } as const
    const one = { ...all, path: `${base}/${segment}/:${id}` } as const
    return {
      list: <const Own extends Parameters>(own: Own) =>
        ({ name: `${group}.list`, ...readRequest, ...all, parameters: [...shared, ...own], answer: { resource, many: true } }) as const,
      get: <const Own extends Parameters>(own: Own) =>
        ({ name: `${group}.get`, ...readRequest, ...one, parameters: [...shared, path(id), ...own] }) as const,
      create: <const Own extends Parameters>(own: Own) =>
        ({ name: `${group}.create`, ...createRequest, ...all, parameters: [...shared, ...own] }) as const,
      update: <const Own extends Parameters>(own: Own) =>
        ({ name: `${group}.update`, ...updateRequest, ...one, parameters: [...shared, path(id), ...own] }) as const,
      delete: { name: `${group}.delete`, ...deleteRequest, ...one, parameters: [...shared, path(id)] } as const,
    }
  }

/** Creates the endpoints of records of an account. */
export const recordsOfAccount = recordsBelow(accountPath, [accountId])

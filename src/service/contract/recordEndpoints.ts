/** Functions that create the endpoints of the records of an account. */
import { accountPath, createRequest, deleteRequest, readRequest, updateRequest, type Endpoint } from './endpoint.ts'
import { accountId, path, withDeleted } from './parameter.ts'

type Parameters = Endpoint['parameters']

/** Creates the endpoint that lists records. `segment`: path of the records below the account. `parameters`: those besides the account. */
export const readMany = <
  const Name extends string,
  const Segment extends string,
  const Resource extends string,
  const Own extends Parameters,
>(
  name: Name,
  segment: Segment,
  resource: Resource,
  parameters: Own,
) =>
  ({
    name,
    ...readRequest,
    path: `${accountPath}/${segment}`,
    parameters: [accountId, ...parameters],
    answer: { resource, many: true },
  }) as const

/** Creates the endpoint that creates a record. The arguments are those of `readMany`. */
export const createOne = <
  const Name extends string,
  const Segment extends string,
  const Resource extends string,
  const Own extends Parameters,
>(
  name: Name,
  segment: Segment,
  resource: Resource,
  parameters: Own,
) => ({ ...readMany(name, segment, resource, parameters), ...createRequest, answer: { resource, many: false } }) as const

/** Creates the endpoint that reads a record. `id`: name of the parameter with its id. `segment`: as in `readMany`. */
export const readOne = <const Name extends string, const Segment extends string, const Id extends string, const Resource extends string>(
  name: Name,
  segment: Segment,
  id: Id,
  resource: Resource,
) =>
  ({
    name,
    ...readRequest,
    path: `${accountPath}/${segment}/:${id}`,
    parameters: [accountId, path(id), withDeleted],
    answer: { resource, many: false },
  }) as const

/** Creates the endpoint that updates a record. `id`: as in `readOne`. `parameters`: those besides the account and the id. */
export const updateOne = <
  const Name extends string,
  const Segment extends string,
  const Id extends string,
  const Resource extends string,
  const Own extends Parameters,
>(
  name: Name,
  segment: Segment,
  id: Id,
  resource: Resource,
  parameters: Own,
) => ({ ...readOne(name, segment, id, resource), ...updateRequest, parameters: [accountId, path(id), ...parameters] }) as const

/** Creates the endpoint that deletes a record. The arguments are those of `readOne`. */
export const deleteOne = <const Name extends string, const Segment extends string, const Id extends string, const Resource extends string>(
  name: Name,
  segment: Segment,
  id: Id,
  resource: Resource,
) => ({ ...readOne(name, segment, id, resource), ...deleteRequest, parameters: [accountId, path(id)] }) as const

/**
 * Error for a request that gets no answer. Causes: the sandbox is closed, a reset or restore replaced the state, or a switch resets the
 * connection.
 */
export class DroppedRequest extends Error {}

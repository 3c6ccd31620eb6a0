/**
 * Error that drops a request without an answer: the sandbox is closed, a reset or restore replaced the state, or a switch resets the
 * connection.
 */
export class DroppedRequest extends Error {}

/** Error that drops a request, because the sandbox is closed, or a reset or restore replaced the state. The request gets no answer. */
export class DroppedRequest extends Error {}

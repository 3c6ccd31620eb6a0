/** Thrown to drop a request to a closed sandbox, or to a state that a reset or restore replaced. It gets no answer and changes nothing. */
export class DroppedRequest extends Error {}

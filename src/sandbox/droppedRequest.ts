/** Thrown for a request to a closed sandbox, or to a state that a reset or restore replaced. The request gets no answer and changes nothing. */
export class DroppedRequest extends Error {}

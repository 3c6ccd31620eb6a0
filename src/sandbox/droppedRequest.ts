/** Thrown for a request to a state that a reset or restore has replaced, or to a closed sandbox. It is not answered and changes nothing. */
export class DroppedRequest extends Error {}

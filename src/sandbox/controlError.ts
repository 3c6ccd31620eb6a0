/** Error of a call of the control API, which answers 400 with the message. */
export class ControlError extends Error {}

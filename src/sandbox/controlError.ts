/** Refusal of a call of the control API, with status 400. */
export class ControlError extends Error {}

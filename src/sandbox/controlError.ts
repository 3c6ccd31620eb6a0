/** Rejection of a call of the control API, which is answered with status 400. */
export class ControlError extends Error {}

/** Refusal of the control API: `status` (400 or 404) with the message. */
export class ControlError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

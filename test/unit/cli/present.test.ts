/** Manners 5 and 20: what an error says to people, and that it ends with something to type. */
import { expect, test } from 'vitest'
import { RunError } from '../../../src/errors.ts'
import { errorLines, presentError } from '../../../src/cli/present.ts'

const lines = (mend: string, command?: string) =>
  errorLines(presentError(new RunError('PORT_IN_USE', 'another program listens there', { where: 'port 4010', mend })), command)

test('a mend in words ends with the page of help on the command that failed', () => {
  expect(lines('choose another port with --port', 'sandbox')).toBe(
    'where  port 4010\nerror  PORT_IN_USE  another program listens there\nmend   choose another port with --port   (sluice help sandbox)\n',
  )
})

test('a mend that is a command stays as it is, to be pasted', () => {
  expect(lines('sluice doctor', 'auth login')).toMatch(/\nmend {3}sluice doctor\n$/)
  expect(lines('choose another port')).toMatch(/\nmend {3}choose another port\n$/)
})

test('a fault of ours asks for a report, and for no help', () => {
  expect(errorLines(presentError(new TypeError('x is not a function')), 'run')).toMatch(/INTERNAL[^]*report what it prints\n$/)
})

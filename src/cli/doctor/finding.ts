// A result of `turnpike doctor`: what was checked, how it is, and what to do.

export type Finding = {
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail' | 'skip'
  readonly detail: string
  readonly fix?: string
}

export const ok = (check: string, detail: string): Finding => ({ check, state: 'ok', detail })
export const skip = (check: string, detail: string): Finding => ({ check, state: 'skip', detail })
export const warn = (check: string, detail: string, fix: string): Finding => ({ check, state: 'warn', detail, fix })
export const fail = (check: string, detail: string, fix: string): Finding => ({ check, state: 'fail', detail, fix })

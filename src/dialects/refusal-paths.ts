// A refusal of the chat to which a request was translated, with the names that its caller used.
import { Refusal } from '../domain/refusal.ts'

// `ownPath` gives the caller's path of a field of the translation.
export function inOwnPaths<Read>(work: () => Read, ownPath: (param: string) => string): Read {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Refusal) || error.detail.param === undefined) throw error
    const { param } = error.detail
    const own = ownPath(param)
    throw new Refusal(error.code, { ...error.detail, param: own, message: error.message.replaceAll(param, own) })
  }
}

// Anthropic's Messages: passed through to providers that speak it, translated to a chat for all others.
import type { DialectEdges } from '../dialect.ts'
import { messagesError } from './errors.ts'
import { messagesWhole } from './json.ts'
import { parseMessages } from './parse.ts'
import { messagesStream } from './stream.ts'

export const MESSAGES: DialectEdges = {
  parse: parseMessages,
  stream: messagesStream,
  whole: messagesWhole,
  error: messagesError,
}

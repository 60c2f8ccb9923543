// OpenAI's chat completions: the dialect that all others are translated to.
import { parseChat } from '../../chat/parse-request.ts'
import { errorBody } from '../../domain/refusal.ts'
import type { DialectEdges } from '../dialect.ts'
import { chatWhole } from './json.ts'
import { chatStream } from './stream.ts'

export const CHAT: DialectEdges = { parse: parseChat, stream: chatStream, whole: chatWhole, error: errorBody }

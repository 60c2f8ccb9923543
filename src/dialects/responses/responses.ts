// OpenAI's Responses API, without server-side state.
import { errorBody } from '../../domain/refusal.ts'
import type { DialectEdges } from '../dialect.ts'
import { responsesWhole } from './json.ts'
import { parseResponses } from './parse.ts'
import { responsesStream } from './stream.ts'

export const RESPONSES: DialectEdges = {
  parse: parseResponses,
  stream: responsesStream,
  whole: responsesWhole,
  error: errorBody,
}

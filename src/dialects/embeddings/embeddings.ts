// OpenAI's embeddings. They never stream.

import { parseEmbeddings } from '../../chat/parse-embeddings.ts'
import { errorBody } from '../../domain/refusal.ts'
import type { DialectEdges } from '../dialect.ts'
import { embeddingsWhole } from './json.ts'

export const EMBEDDINGS: DialectEdges = {
  parse: parseEmbeddings,
  stream() {
    throw new Error('embeddings are never streamed')
  },
  whole: embeddingsWhole,
  error: errorBody,
}

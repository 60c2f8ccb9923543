// Makes the schemas that answers are judged by before the first test needs them: beside others, and while coverage is taken,
// that would take three times as long, and in several processes at once.
import { makeSchemas } from './schemas.ts'

makeSchemas()

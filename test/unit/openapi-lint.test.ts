// The OpenAPI document passes a widely used linter with its recommended rules.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { openApiDocument } from '../../src/http/openapi/openapi.ts'

const RULES = {
  'operation-description': 'error',
  'parameter-description': 'error',
  'tag-description': 'error',
  'no-invalid-schema-examples': 'error',
  'no-invalid-media-type-examples': 'error',
  // Probes and documents are never refused.
  'operation-4xx-response': 'off',
  // The introduction lists every header and every code, also those that no operation names.
  'no-unused-components': 'off',
} as const

for (const audience of ['customers', 'operators'] as const) {
  test(`the document for ${audience} passes the linter`, async () => {
    const source = JSON.stringify(openApiDocument({ keyPrefix: 'svc_live_', headerPrefix: 'X-Svc-' }, audience))
    const config = await createConfig({ extends: ['recommended'], rules: RULES })

    const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })

    assert.deepEqual(
      problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} at ${location[0]?.pointer}`),
      [],
    )
  })
}

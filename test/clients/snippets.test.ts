// The code in docs/use-it-with.md runs as it is printed; only the address, the key and the output are the test's.
import assert from 'node:assert/strict'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { installedModules, runAgent } from '../support/agents.ts'
import { TEXT } from '../support/client-fixture.ts'
import { temporaryFolder } from '../support/folder.ts'
import { type Gateway, standardConfig, startGateway } from '../support/gateway.ts'
import { pythonWith } from '../support/python.ts'
import { embeddingModel, standardModel } from '../support/standard-config.ts'
import { startUpstream } from '../support/upstream.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/use-it-with.md'), 'utf8')

type Program = { readonly command: string; readonly env: Readonly<Record<string, string>>; readonly modules?: string }

const node = (modules: { readonly path: string } | string): Program | string =>
  typeof modules === 'string' ? modules : { command: process.execPath, env: {}, modules: modules.path }
const ownNode = node({ path: join(ROOT, 'node_modules') })
const python = (requirements: string): Program | string => {
  const found = pythonWith(join(import.meta.dirname, requirements))
  return typeof found === 'string' ? found : { command: found.executable, env: found.env }
}
const sdkPython = python('requirements.txt')

const SNIPPETS: readonly (readonly [section: string, language: 'js' | 'python', program: Program | string])[] = [
  ['OpenAI for Python', 'python', sdkPython],
  ['OpenAI for Node', 'js', ownNode],
  ["Anthropic's SDKs", 'python', sdkPython],
  ["Anthropic's SDKs", 'js', ownNode],
  ['LangChain', 'js', ownNode],
  ['LangChain', 'python', python('langchain-requirements.txt')],
  ['Vercel AI SDK', 'js', ownNode],
  ['LlamaIndex', 'js', node(installedModules('@llamaindex/openai', '0.4.23'))],
]

test("the snippets print the model's answer", async t => {
  await using upstream = await startUpstream()
  await using gateway = await startCatalog(upstream.url)
  const { secret: key } = await gateway.createKey()

  for (const [section, language, program] of SNIPPETS) {
    const skip = typeof program === 'string' ? program : false
    if (skip !== false) process.stderr.write(`\nNOT TESTED: the snippet of ${section} in ${language}.\n${skip}\n\n`)

    await t.test(`${section} in ${language}`, { skip }, async () => {
      await using folder = await temporaryFolder()
      const { command, env, modules } = program as Program
      const file = join(folder.path, language === 'js' ? 'snippet.mjs' : 'snippet.py')
      const code = snippet(section, language).replaceAll('http://127.0.0.1:8080', gateway.url)
      writeFileSync(file, code.replaceAll('svc_live_…', key))
      if (modules !== undefined) symlinkSync(modules, join(folder.path, 'node_modules'))

      const { code: exit, stdout, stderr } = await runAgent(command, [file], folder.path, { ...env, KEY: key })

      assert.deepEqual([exit, stdout.slice(0, TEXT.length)], [0, TEXT], `${stdout}\n${stderr}`)
    })
  }
})

// The first block in a language of a section.
function snippet(section: string, language: string): string {
  const text = PAGE.split('\n## ').find(part => part.startsWith(`${section}\n`))
  const code = text?.split(`\`\`\`${language}\n`)[1]?.split('```')[0]
  assert.ok(code, `docs/use-it-with.md has no ${language} code in the section ${section}`)
  return code
}

function startCatalog(upstreamUrl: string): Promise<Gateway> {
  const targets = [{ provider: 'up', model: 'm1' }]
  const models = [standardModel({ id: 'gpt-4o-mini' }), embeddingModel({ id: 'text-embedding-3-small', targets })]
  return startGateway({ config: standardConfig(upstreamUrl, { models }) })
}

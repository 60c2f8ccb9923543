// Coding agents run unchanged: each gets a task, calls a tool on the machine, and ends with the model's last words. The upstream is
// scripted and speaks chat completions only.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { installedAgent, runAgent } from '../support/agents.ts'
import { temporaryFolder } from '../support/folder.ts'
import { type Gateway, standardConfig, startGateway } from '../support/gateway.ts'
import { standardModel } from '../support/standard-config.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import type { JournalEntry } from '../support/upstream-journal.ts'

const WORD = 'heliotrope'
const TASK = 'Read note.txt and tell me the word in it.'

type Access = { readonly url: string; readonly key: string }
type Agent = {
  readonly name: string
  readonly pack: string
  readonly version: string
  readonly command: string
  readonly endpoint: string
  // The tool of the agent that the model calls, and with which arguments.
  tool(folder: string): { readonly name: string; readonly arguments: object }
  // The arguments of a first run that stores the access.
  before?(gateway: Access): readonly string[]
  args(folder: string): readonly string[]
  // Writes its configuration; returns its environment.
  setUp(folder: string, gateway: Access): Readonly<Record<string, string>>
}

const opencode = (npm: string, endpoint: string): Agent => ({
  name: `opencode with ${npm}`,
  pack: 'opencode-ai',
  version: '1.18.33',
  command: 'opencode',
  endpoint,
  tool: folder => ({ name: 'read', arguments: { filePath: join(folder, 'note.txt') } }),
  args: () => ['run', '--model', 'turnpike/agents', TASK],
  setUp(folder, { url, key }) {
    const provider = {
      npm,
      name: 'Turnpike',
      options: { baseURL: `${url}/v1`, apiKey: key },
      models: { agents: { name: 'agents' } },
    }
    const config = {
      provider: { turnpike: provider },
      autoupdate: false,
      share: 'disabled',
      small_model: 'turnpike/agents',
    }
    writeFileSync(join(folder, 'opencode.json'), JSON.stringify(config))
    return { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }
  },
})

// It knows its own models by name, and asks others differently: with instructions in the course of the conversation.
const claudeCode = (model: string): Agent => ({
  name: `Claude Code with the model ${model}`,
  pack: '@anthropic-ai/claude-code',
  version: '2.1.325',
  command: 'claude',
  endpoint: 'messages',
  tool: folder => ({ name: 'Read', arguments: { file_path: join(folder, 'note.txt') } }),
  args: () => ['-p', TASK, '--allowedTools', 'Read', '--model', model],
  setUp: (_, { url, key }) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }),
})

const AGENTS: readonly Agent[] = [
  claudeCode('claude-sonnet-4-5'),
  claudeCode('agents'),
  {
    name: 'Codex',
    pack: '@openai/codex',
    version: '0.166.0',
    command: 'codex',
    endpoint: 'responses',
    tool: () => ({ name: 'exec_command', arguments: { cmd: 'cat note.txt' } }),
    args: () => ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', TASK],
    setUp(folder, { url, key }) {
      mkdirSync(join(folder, '.codex'))
      writeFileSync(
        join(folder, '.codex/config.toml'),
        [
          'model = "gpt-5-codex"',
          'model_provider = "turnpike"',
          '[model_providers.turnpike]',
          'name = "Turnpike"',
          `base_url = "${url}/v1"`,
          'env_key = "TURNPIKE_KEY"',
          'wire_api = "responses"',
        ].join('\n'),
      )
      return { TURNPIKE_KEY: key, CODEX_HOME: join(folder, '.codex') }
    },
  },
  opencode('@ai-sdk/openai-compatible', 'chat.completions'),
  opencode('@ai-sdk/openai', 'responses'),
  opencode('@ai-sdk/anthropic', 'messages'),
  {
    name: 'Qwen Code',
    pack: '@qwen-code/qwen-code',
    version: '0.24.4',
    command: 'qwen',
    endpoint: 'chat.completions',
    tool: folder => ({ name: 'read_file', arguments: { file_path: join(folder, 'note.txt') } }),
    args: () => ['-p', TASK],
    setUp: (_, { url, key }) => ({
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: key,
      OPENAI_MODEL: 'agents',
      QWEN_USAGE_STATISTICS_ENABLED: '0',
    }),
  },
  {
    name: 'Continue',
    pack: '@continuedev/cli',
    version: '1.5.47',
    command: 'cn',
    endpoint: 'chat.completions',
    tool: folder => ({ name: 'Read', arguments: { filepath: join(folder, 'note.txt') } }),
    args: () => ['-p', TASK],
    setUp(folder, { url, key }) {
      mkdirSync(join(folder, '.continue'))
      writeFileSync(
        join(folder, '.continue/config.yaml'),
        [
          'name: My config',
          'version: 0.0.1',
          'schema: v1',
          'models:',
          '  - name: Turnpike agents',
          '    provider: openai',
          '    model: agents',
          `    apiBase: ${url}/v1`,
          `    apiKey: ${key}`,
          '    roles: [chat, edit, apply]',
        ].join('\n'),
      )
      return { CONTINUE_CLI_ENABLE_TELEMETRY: '0', CONTINUE_CLI_AUTO_UPDATED: 'true' }
    },
  },
  {
    name: 'Cline',
    pack: 'cline',
    version: '3.0.65',
    command: 'cline',
    endpoint: 'chat.completions',
    tool: folder => ({ name: 'read_files', arguments: { files: [{ path: join(folder, 'note.txt') }] } }),
    before: ({ url, key }) => ['auth', '-p', 'openai-compatible', '-b', `${url}/v1`, '-k', key, '-m', 'agents'],
    args: () => [TASK],
    // Its backend would otherwise stay behind as a daemon.
    setUp(folder) {
      const path = join(folder, 'global-settings.json')
      writeFileSync(path, JSON.stringify({ telemetryOptOut: true, autoUpdateEnabled: false }))
      return { CLINE_GLOBAL_SETTINGS_PATH: path, CLINE_SESSION_BACKEND_MODE: 'local' }
    },
  },
]

test('agents call a tool and finish', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startAgents(upstream)

  for (const agent of AGENTS) {
    const installed = installedAgent(agent.pack, agent.version, agent.command)
    const skip = typeof installed === 'string' ? installed : false
    if (skip !== false) process.stderr.write(`\nNOT TESTED: ${agent.name}.\n${skip}\n\n`)

    await t.test(`${agent.name} calls a tool and finishes`, { skip }, async () => {
      await using folder = await temporaryFolder()
      writeFileSync(join(folder.path, 'note.txt'), `The word is ${WORD}.\n`)
      const { secret: key } = await gateway.createKey()
      const tool = agent.tool(folder.path)
      upstream.script(entry => turnOf(entry, tool))

      const access = { url: gateway.url, key }
      const env = agent.setUp(folder.path, access)
      const { path } = installed as { path: string }
      if (agent.before !== undefined) await runAgent(path, agent.before(access), folder.path, env)
      const { code, stdout, stderr } = await runAgent(path, agent.args(folder.path), folder.path, env)

      const said = `exit ${code}\n${stdout}\n${stderr}`
      assert.equal(code, 0, said)
      assert.match(stdout, new RegExp(`The word is ${WORD}, says the note`), said)
      const { body } = await gateway.get(`/v1/usage?endpoint=${agent.endpoint}`, key)
      const rows = body.data as unknown as { outcome: string; http_status: number }[]
      assert.ok(rows.length >= 2, JSON.stringify(rows))
      for (const { outcome, http_status } of rows) assert.deepEqual([outcome, http_status], ['completed', 200])
    })
  }
})

// The agents' own names of models reach a model of the catalog.
function startAgents(upstream: Upstream): Promise<Gateway> {
  const aliases = ['claude-*', 'gpt-*']
  const models = [standardModel({ id: 'agents', aliases, context_length: 400_000, max_output_tokens: 64_000 })]
  return startGateway({ config: standardConfig(upstream.url, { models }) })
}

type Message = { readonly role: string; readonly content: unknown }

// First the tool, then what it returned. A side task, such as a title for the session, has no tools.
function turnOf({ body }: JournalEntry, tool: { readonly name: string; readonly arguments: object }) {
  const { messages, tools } = body as { messages: readonly Message[]; tools?: readonly object[] }
  if (tools === undefined) return { words: ['A', ' title'] }
  const result = messages.findLast(message => message.role === 'tool')
  if (result === undefined) return { toolCalls: [{ name: tool.name, arguments: JSON.stringify(tool.arguments) }] }
  const word = /The word is (\w+)/.exec(JSON.stringify(result.content))?.[1]
  return { words: ['The word is ', `${word}`, ', says the note.'] }
}

// What of Anthropic's API is passed on, as data: beta features, and the tools that Anthropic itself runs and bills.

// Values of `anthropic-beta` that change neither a price nor what a request reaches. The others are left out and named: a longer
// context, fast mode, searches, files and code execution have prices of their own.
export const BETAS: ReadonlySet<string> = new Set([
  'claude-code-20250219',
  'computer-use-2024-10-22',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-management-2025-06-27',
  'effort-2025-11-24',
  'extended-cache-ttl-2025-04-11',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'mid-conversation-tool-changes-2026-07-01',
  'model-context-window-exceeded-2025-08-26',
  'output-128k-2025-02-19',
  'pdfs-2024-09-25',
  'prompt-caching-2024-07-31',
  'prompt-caching-scope-2026-01-05',
  'structured-outputs-2025-11-13',
  'thinking-display-updates-2026-08-18',
  'thinking-token-count-2026-05-13',
  'token-counting-2024-11-01',
  'token-efficient-tools-2025-02-19',
])

// Tools that Anthropic defines and the caller runs, by their type without its date. Any other type may run at the provider, where
// it is billed by use or reaches elsewhere: a list of those would not have the next one.
const CLIENT_TOOL = /^(?:bash|computer|memory|text_editor)_\d{8}$/

export function isServerTool(type: string): boolean {
  return !CLIENT_TOOL.test(type)
}

// Fields that only serve tools of the provider.
export const SERVER_FIELDS: readonly string[] = ['mcp_servers', 'container']

// Edits of the context that remove something; others would generate text that no usage reports.
export const CONTEXT_EDIT = /^clear_(?:thinking|tool_uses)_\d+$/

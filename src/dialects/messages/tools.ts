// The tools of a Messages request: the caller's own, those that Anthropic defines and the caller runs, and those that run at the
// provider.
import { missing } from '../../chat/request-errors.ts'
import { Refusal } from '../../domain/refusal.ts'
import { isServerTool } from './allowlists.ts'
import { checkMark } from './content.ts'
import { type Body, cannotTranslate, leaveOut, type Reading } from './reading.ts'
import { isCustomTool, type Tool } from './translate.ts'

export const TOOLS_TRANSLATED_MAX = 128

// Tools that run at the provider have no price here: they are left out, unless the model would be forced to use one.
export function toolsOf({ tools = [], tool_choice: choice }: Body, reading: Reading): readonly Tool[] {
  const kept: Tool[] = []
  for (const [index, tool] of tools.entries()) {
    const path = `tools.${index}`
    checkMark(tool, path)
    if (isCustomTool(tool)) {
      if (tool.name === undefined) throw missing(`${path}.name`)
      if (tool.input_schema === undefined) throw missing(`${path}.input_schema`)
      kept.push(tool)
    } else if (isServerTool(tool.type as string)) leaveOut(reading, `tools.${tool.type}`)
    else {
      kept.push(tool)
      cannotTranslate(
        reading,
        `${path}.type`,
        `Tools of type ${tool.type} are not supported by this model's providers.`,
      )
    }
  }
  if (kept.length > TOOLS_TRANSLATED_MAX)
    cannotTranslate(
      reading,
      'tools',
      `tools may have at most ${TOOLS_TRANSLATED_MAX} entries for this model's providers.`,
    )
  const isForced =
    choice?.type === 'any'
      ? kept.length === 0
      : choice?.type === 'tool' && !kept.some(({ name }) => name === choice.name)
  if (!isForced) return kept
  const isLeftOut = kept.length < tools.length
  throw new Refusal(isLeftOut ? 'unsupported_value' : 'invalid_value', {
    param: 'tool_choice',
    message: isLeftOut
      ? 'tool_choice forces a tool that runs at the provider, which is not supported.'
      : 'tool_choice names no tool of the request.',
  })
}

// The completion script for zsh, with descriptions.
import { shellQuote } from '../../lib/shell-quote.ts'
import { type Place, PROFILES_COMMAND, valueOptions } from './words.ts'

export function zshScript(places: readonly Place[]): string {
  return `#compdef turnpike
# Completion of turnpike for zsh. Written by "turnpike completion zsh".
_turnpike() {
  local at="" word prev="\${words[CURRENT-1]}" cur="\${words[CURRENT]}"
  local -a offered
  integer i
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    case "$word" in
      ${valueOptions(places).join('|')}) ((i++)) ;;
      -*) ;;
      *) if [[ -z $at ]]; then at="$word"; else
           case "$at" in
             (${innerPattern(places)}) at="$at $word" ;;
           esac
         fi ;;
    esac
  done
  case "$at $prev" in
${places.flatMap(valueCases).join('')}    (${valueOptions(places)
    .map(name => `*" ${name}"`)
    .join('|')}) _files; return ;;
  esac
  if [[ $cur == -* ]]; then
    case "$at" in
${places.map(optionCase).join('')}    esac
    (( $#offered )) && _describe -o 'option' offered
  else
    case "$at" in
${places.map(commandCase).join('')}    esac
    if (( $#offered )); then _describe 'command' offered; else _files; fi
  fi
}
if [[ $funcstack[1] == _turnpike ]]; then _turnpike "$@"; else compdef _turnpike turnpike; fi
`
}

function innerPattern(places: readonly Place[]): string {
  const inner = places.filter(
    ({ words, commands, options }) => words.length === 1 && commands.length > 0 && options.length === 0,
  )
  return inner.map(({ words }) => words[0]).join('|')
}

function valueCases({ words, options }: Place): readonly string[] {
  return options.flatMap(({ name, short, values }) => {
    if (values === undefined) return []
    const patterns = [`--${name}`, ...(short === undefined ? [] : [`-${short}`])].map(each =>
      shellQuote(`${words.join(' ')} ${each}`),
    )
    const list = values === 'profiles' ? `\${(f)"$(${PROFILES_COMMAND})"}` : values.map(shellQuote).join(' ')
    return [`    (${patterns.join('|')}) compadd -- ${list}; return ;;\n`]
  })
}

function optionCase({ words, options }: Place): string {
  const lines = options.map(({ name, about }) => shellQuote(`--${name}:${escaped(about)}`))
  return lines.length === 0 ? '' : `      (${shellQuote(words.join(' '))}) offered=(${lines.join(' ')}) ;;\n`
}

function commandCase({ words, commands }: Place): string {
  const lines = commands.map(({ name, about }) => shellQuote(`${escaped(name)}:${escaped(about)}`))
  return lines.length === 0 ? '' : `      (${shellQuote(words.join(' '))}) offered=(${lines.join(' ')}) ;;\n`
}

// A colon separates the word from its description.
function escaped(text: string): string {
  return text.replace(/[\\:]/g, '\\$&')
}

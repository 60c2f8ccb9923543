// The completion script for bash. It needs no package, only bash itself.
import { type OptionWords, type Place, PROFILES_COMMAND, valueOptions } from './words.ts'

export function bashScript(places: readonly Place[]): string {
  return `# Completion of turnpike for bash. Written by "turnpike completion bash".
_turnpike() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" at="" word i offered=""
  COMPREPLY=()
  # An equals sign is a word of its own.
  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in
      ${valueOptions(places).join('|')}) ((i++)); [[ "\${COMP_WORDS[i]}" == "=" ]] && ((i++)) ;;
      -*|=) ;;
      *) case "$at" in
           "") at="$word" ;;
           ${innerPattern(places)}) at="$at $word" ;;
         esac ;;
    esac
  done
  case "$at $prev" in
${places.flatMap(valueCases).join('')}    ${freeCases(places)}
  esac
  if [[ $cur == -* ]]; then
    case "$at" in
${places.map(optionCase).join('')}    esac
  else
    case "$at" in
${places.map(commandCase).join('')}    esac
  fi
  COMPREPLY=($(compgen -W "$offered" -- "$cur"))
}
complete -o default -F _turnpike turnpike
`
}

// Groups, after which a word is a subcommand.
function innerPattern(places: readonly Place[]): string {
  const inner = places.filter(
    ({ words, commands, options }) => words.length === 1 && commands.length > 0 && options.length === 0,
  )
  return inner.map(({ words }) => `"${words[0]}"`).join('|')
}

function names({ name, short }: OptionWords): readonly string[] {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]
}

function valueCases({ words, options }: Place): readonly string[] {
  return options.flatMap(option => {
    if (option.values === undefined) return []
    const pattern = names(option)
      .map(name => `"${words.join(' ')} ${name}"`)
      .join('|')
    const values = option.values === 'profiles' ? `$(${PROFILES_COMMAND})` : option.values.join(' ')
    return [`    ${pattern}) COMPREPLY=($(compgen -W "${values}" -- "$cur")); return ;;\n`]
  })
}

// Any other value is left to bash, which offers file names.
function freeCases(places: readonly Place[]): string {
  return `${valueOptions(places)
    .map(name => `*" ${name}"`)
    .join('|')}) return ;;`
}

function optionCase({ words, options }: Place): string {
  return options.length === 0
    ? ''
    : `      "${words.join(' ')}") offered="${options.map(({ name }) => `--${name}`).join(' ')}" ;;\n`
}

function commandCase({ words, commands }: Place): string {
  return commands.length === 0
    ? ''
    : `      "${words.join(' ')}") offered="${commands.map(({ name }) => name).join(' ')}" ;;\n`
}

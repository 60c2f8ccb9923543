// The completion script for fish, with descriptions.
import { type OptionWords, type Place, PROFILES_COMMAND, valueOptions } from './words.ts'

export function fishScript(places: readonly Place[]): string {
  return `# Completion of turnpike for fish. Written by "turnpike completion fish".
function __turnpike_at
    set -l words (commandline -opc)
    set -l at
    set -l skip 0
    for word in $words[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case ${valueOptions(places).join(' ')}
                set skip 1
            case '-*'
            case '*'
                if test (count $at) -lt 2
                    set -a at $word
                end
        end
    end
    test "$at" = "$argv"; or begin
        test (count $argv) = 1; and test "$at[1]" = "$argv"; and not contains -- $argv ${innerWords(places).join(' ')}
    end
end
complete -c turnpike -f
${places.flatMap(linesOf).join('\n')}
`
}

function innerWords(places: readonly Place[]): readonly string[] {
  const inner = places.filter(
    ({ words, commands, options }) => words.length === 1 && commands.length > 0 && options.length === 0,
  )
  return inner.map(({ words }) => words[0] ?? '')
}

function linesOf({ words, commands, options }: Place): readonly string[] {
  const at = `complete -c turnpike -n '__turnpike_at${words.length === 0 ? '' : ` ${words.join(' ')}`}'`
  return [
    ...commands.map(({ name, about }) => `${at} -a ${name} -d ${quoted(about)}`),
    ...options.map(option => `${at} ${optionWords(option)} -d ${quoted(option.about)}`),
  ]
}

function optionWords({ name, short, takesValue, values }: OptionWords): string {
  const names = `-l ${name}${short === undefined ? '' : ` -s ${short}`}`
  if (!takesValue) return names
  if (values === undefined) return `${names} -r -F`
  return `${names} -x -a ${values === 'profiles' ? `'(${PROFILES_COMMAND})'` : quoted(values.join(' '))}`
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

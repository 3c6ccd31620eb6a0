import { flagsOf, steps } from './quote.ts'
import { endings, type Place, type Shape, type Word } from './shape.ts'

/** As the script for bash, in fish's words, with what each word means beside it. */
export function fishCompletion(shape: Shape): string {
  return `# Completion of sluice for fish:  sluice completion fish > ~/.config/fish/completions/sluice.fish
# Prints the command that was typed so far, and a + for each argument behind it.
function __sluice_place
    set -l words (commandline -opc)
    set -e words[1]
    set -l place ''
    set -l prev ''
    for word in $words
        if contains -- "$prev" ${flagsOf(shape, 'file', 'directory', 'other').join(' ')}
            set prev ''
            continue
        end
        set prev "$word"
        if string match -q -- '-*' "$word"
            continue
        end
        switch "$place $word"
            case ${steps(shape).map(quote).join(' ')}
                set place (string trim -- "$place $word")
            case '*'
                set place "$place+"
        end
    end
    echo "$place"
end
function __sluice_at
    test (__sluice_place | string trim -r -c +) = "$argv[1]"
end
function __sluice_first
    test (__sluice_place) = "$argv[1]"
end
function __sluice_pipelines
    set -l folder pipelines
    set -l words (commandline -opc)
    set -l prev ''
    for word in $words
        if test "$prev" = --pipelines
            set folder (string replace -r -- '^~' "$HOME" "$word")
        else if string match -q -- '--pipelines=*' "$word"
            set folder (string replace -- '--pipelines=' '' "$word")
        end
        set prev "$word"
    end
    for file in ${endings.map((ending) => `$folder/*.${ending}`).join(' ')}
        if not string match -q -r -- '\\.(d|test)\\.ts$' "$file"
            string replace -r -- '^.*/' '' "$file" | string replace -r -- '\\.[^.]+$' ''
        end
    end
end
complete -c sluice -f
${shape.places.flatMap((place) => linesOf(shape, place)).join('\n')}
`
}

function linesOf(shape: Shape, place: Place): string[] {
  const on = (test: string) => `complete -c sluice -n ${quote(`${test} ${quote(place.path)}`)}`
  return [
    ...place.words.map(({ word, meaning }) => `${on('__sluice_first')} -a ${word}${described(meaning)}`),
    ...(place.pipelines === 'none'
      ? []
      : [`${on(place.pipelines === 'all' ? '__sluice_at' : '__sluice_first')} -a '(__sluice_pipelines)'`]),
    ...place.options.map((option) => `${on('__sluice_at')} ${flag(option)}${value(shape, option)}${described(option.meaning)}`),
  ]
}

function flag({ word }: Word): string {
  return word.startsWith('--') ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`
}

function value(shape: Shape, { word }: Word): string {
  const kind = shape.values.get(word)
  if (kind === undefined) return ''
  return { directory: " -x -a '(__fish_complete_directories)'", file: ' -r -F', other: ' -x' }[kind]
}

function described(meaning: string): string {
  return meaning === '' ? '' : ` -d ${quote(meaning)}`
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

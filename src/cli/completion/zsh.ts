import { alternatives, cases, flagsOf, pathsTaking, quote, steps } from './quote.ts'
import { endings, type Shape, type Word } from './shape.ts'

/** As the script for bash, in zsh's words, with what each word means beside it. */
export function zshCompletion(shape: Shape): string {
  const list = (words: readonly Word[]) =>
    `found=(${words.map(({ word, meaning }) => quote(meaning === '' ? word : `${word}:${meaning}`)).join(' ')})`
  return `#compdef sluice
# Completion of sluice for zsh. In ~/.zshrc, below compinit:  source <(sluice completion zsh)
_sluice() {
  local prev='' place='' folder=pipelines given=0 word name i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    case $prev in
      (--pipelines) folder=\${(Q)word} prev=''; continue ;;
      (${alternatives(flagsOf(shape, 'file', 'directory', 'other'))}) prev=''; continue ;;
    esac
    prev=$word
    [[ $word == --pipelines=* ]] && folder=\${(Q)word#*=}
    [[ $word == -* ]] && continue
    case "$place $word" in
      (${alternatives(steps(shape))}) place=\${place:+$place }$word ;;
      (*) given=$((given + 1)) ;;
    esac
  done
  # --flag=value is one word here: its value is completed as that of the flag
  if [[ $PREFIX == --*=* ]]; then
    prev=\${PREFIX%%=*}
    compset -P 1 '*='
  fi
  case $prev in
    (${alternatives(flagsOf(shape, 'directory'))}) _files -/; return ;;
    (${alternatives(flagsOf(shape, 'file'))}) _files; return ;;
    (${alternatives(flagsOf(shape, 'other'))}) return 1 ;;
  esac
  if [[ $PREFIX == -* ]]; then
    case $place in
${cases(shape, ({ options }) => options, list).join('\n')}
    esac
    _describe -o option found
    return
  fi
  case $place in
    (${alternatives(pathsTaking(shape, 'first'))}) ((given == 0)) && place=PIPELINE ;;
    (${alternatives(pathsTaking(shape, 'all'))}) place=PIPELINE ;;
    (*) ((given == 0)) || return 1 ;;
  esac
  case $place in
${cases(shape, ({ words }) => words, list).join('\n')}
      (PIPELINE)
        for name in \${~folder}/*.(${endings.join('|')})(N:t); do
          [[ $name == *.d.ts || $name == *.test.ts ]] || found+=(\${\${name%.*}//:/\\\\:})
        done ;;
  esac
  _describe word found
}
if [[ \${funcstack[1]} == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
`
}

import { alternatives, cases, flagsOf, pathsTaking, quote, steps } from './quote.ts'
import { endings, type Shape, type Word } from './shape.ts'

/**
 * A script that teaches bash the words of the command line. It holds all of them: a TAB starts no process (Node alone takes
 * 0.1 s) and evaluates nothing of what was typed or of what files are called. Bash 3.2 (macOS) will do.
 */
export function bashCompletion(shape: Shape): string {
  const list = (words: readonly Word[]) => `words=(${words.map(({ word }) => quote(word)).join(' ')})`
  return `# Completion of sluice for bash. In ~/.bashrc:  source <(sluice completion bash)
_sluice() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev='' place='' folder=pipelines given=0 word file i
  local -a words=()
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    # bash cuts --flag=value into three words
    [[ $word == '=' ]] && continue
    case $prev in
      (--pipelines) folder=\${word/#\\~/$HOME} prev=''; continue ;;
      (${alternatives(flagsOf(shape, 'file', 'directory', 'other'))}) prev=''; continue ;;
    esac
    prev=$word
    [[ $word == -* ]] && continue
    case "$place $word" in
      (${alternatives(steps(shape))}) place=\${place:+$place }$word ;;
      (*) given=$((given + 1)) ;;
    esac
  done
  [[ $cur == '=' ]] && cur=''
  case $prev in
    (${alternatives(flagsOf(shape, 'directory'))}) compopt -o dirnames 2>/dev/null; return ;;
    (${alternatives(flagsOf(shape, 'file'))}) compopt -o default 2>/dev/null; return ;;
    (${alternatives(flagsOf(shape, 'other'))}) return ;;
  esac
  if [[ $cur == -* ]]; then
    case $place in
${cases(shape, ({ options }) => options, list).join('\n')}
    esac
  else
    case $place in
      (${alternatives(pathsTaking(shape, 'first'))}) ((given == 0)) && place=PIPELINE ;;
      (${alternatives(pathsTaking(shape, 'all'))}) place=PIPELINE ;;
      (*) ((given == 0)) || place=NOTHING ;;
    esac
    case $place in
${cases(shape, ({ words }) => words, list).join('\n')}
      (PIPELINE)
        for file in "$folder"/*.{${endings.join(',')}}; do
          [[ -f $file && $file != *.d.ts && $file != *.test.ts ]] || continue
          file=\${file##*/}
          words+=("\${file%.*}")
        done ;;
    esac
  fi
  # no compgen -W: it would evaluate the names of files
  for word in \${words[@]+"\${words[@]}"}; do
    [[ $word == "$cur"* ]] && COMPREPLY+=("$(printf '%q' "$word")")
  done
}
complete -F _sluice sluice
`
}

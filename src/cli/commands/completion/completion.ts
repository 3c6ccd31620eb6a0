import { argument, writeResult, type CommandRun } from '../../context.ts'

/** Prints the completion script of a shell. The command-line parser has checked the name of the shell. */
export const run: CommandRun = async (context, invocation) => {
  const shell = argument(invocation, 0)
  const script = scripts[shell] ?? ''
  writeResult(context, { shell, script }, script)
  return 0
}

/**
 * Completion scripts by shell. Each calls `sluice __complete -- WORDS` for the candidates. A call takes 0.25 s, mostly to start Node twice
 * (2 cores, Node 24.21). No script evaluates typed text or file names. For `:files` and `:directories`, a script uses the shell's own
 * completion.
 */
const scripts: Readonly<Record<string, string>> = {
  // Works with Bash 3.2 (macOS), which needs `eval`, because it reads nothing from `source <(…)`. Bash 3.2 lacks compopt, so it completes
  // no file names. Does not use compgen -W, which would evaluate file names.
  bash: `# Completion of sluice for bash. In ~/.bashrc:  eval "$(sluice completion bash)"
_sluice() {
  local rest=$COMP_LINE word cut i
  local -a words=()
  COMPREPLY=()
  # Bash also splits at : and =, as in --database=postgres://u@h/db. Words without a space between them are joined again.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if ((i == 0)) || [[ $rest == [[:blank:]]* ]]; then words+=("$word"); else words[\${#words[@]}-1]+=$word; fi
    rest=\${rest#"\${rest%%[![:blank:]]*}"}
    rest=\${rest#"$word"}
  done
  # Bash replaces only the part after the last character that splits.
  word=\${words[\${#words[@]}-1]}
  cut=\${word%"\${word##*["$COMP_WORDBREAKS"]}"}
  while IFS=$'\\t' read -r word _; do
    case $word in
      (:files) compopt -o default 2>/dev/null ;;
      (:directories) compopt -o dirnames 2>/dev/null ;;
      (*) COMPREPLY+=("$(printf '%q' "\${word#"$cut"}")") ;;
    esac
  done < <(sluice __complete -- "\${words[@]:1}" 2>/dev/null </dev/null)
}
complete -F _sluice sluice
`,
  zsh: `#compdef sluice
# Completion of sluice for zsh. In ~/.zshrc, below compinit:  source <(sluice completion zsh)
_sluice() {
  local word meaning
  local -a found
  while IFS=$'\\t' read -r word meaning; do
    case $word in
      (:files) [[ $PREFIX == --*=* ]] && compset -P 1 '*='; _files; return ;;
      (:directories) [[ $PREFIX == --*=* ]] && compset -P 1 '*='; _files -/; return ;;
    esac
    found+=("\${word//:/\\\\:}\${meaning:+:$meaning}")
  done < <(sluice __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null </dev/null)
  (( $#found )) && _describe sluice found
}
if [[ \${funcstack[1]} == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
`,
  fish: `# Completion of sluice for fish:  sluice completion fish > ~/.config/fish/completions/sluice.fish
function __sluice_complete
    # fish reports an unknown command even with 2>/dev/null.
    type -q sluice; or return
    set -l words (commandline -opc) (commandline -ct)
    set -l flag (string match -r -- '^--[^=]*=' "$words[-1]")
    set -l value (string replace -r -- '^--[^=]*=' '' "$words[-1]")
    set -l found (sluice __complete -- $words[2..-1] 2>/dev/null </dev/null)
    switch "$found[1]"
        case ':files'
            set found (__fish_complete_path "$value")
            string replace -r -- '^' "$flag" $found
        case ':directories'
            set found (__fish_complete_directories "$value" '')
            string replace -r -- '^' "$flag" $found
        case '*'
            printf '%s\\n' $found
    end
end
complete -c sluice -f -a '(__sluice_complete)'
`,
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/**
 * The scripts that shells load. Each calls `app-operator __complete` with the words so far, the word to
 * complete last. The output is one candidate a line; `:file` asks the shell to complete file names.
 */
export const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `# bash completion of app-operator
_app_operator() {
  local word=\${COMP_WORDS[COMP_CWORD]} line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :file ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
    elif [[ -n $line ]]; then
      COMPREPLY+=("$line")
      [[ $line == */ ]] && compopt -o nospace 2>/dev/null
    fi
  done < <(app-operator __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _app_operator app-operator
`,
  zsh: `#compdef app-operator
# zsh completion of app-operator
_app_operator() {
  local -a candidates open
  local line
  for line in "\${(@f)$(app-operator __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :file) _files ;;
      */) open+=("$line") ;;
      ?*) candidates+=("$line") ;;
    esac
  done
  (( $#open )) && compadd -S '' -- $open
  (( $#candidates )) && compadd -- $candidates
  return 0
}
if [[ $funcstack[1] == _app_operator ]]; then _app_operator "$@"; else compdef _app_operator app-operator; fi
`,
  fish: `# fish completion of app-operator
function __app_operator_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (app-operator __complete $words[2..-1] 2>/dev/null)
        if test "$line" = ':file'
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c app-operator -f -a '(__app_operator_complete)'
`,
};

#compdef bochner
# Completion of bochner's command line for zsh. The program itself says what may follow; the dot
# behind the word at hand keeps an empty one from getting lost.
_bochner() {
  local line files=
  local -a found
  for line in "${(@f)$("${words[1]}" complete-words -- "${(@)words[2,CURRENT-1]}" "${words[CURRENT]}." 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files) files=1 ;;
      *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done
  (( ${#found} )) && _describe -V bochner found
  [[ -n $files ]] && _files
}
(( $+functions[compdef] )) && compdef _bochner bochner

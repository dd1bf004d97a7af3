# bash completion for ljparse, ljrecord, ljelfsym

_ljparse()
{
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} word
  COMPREPLY=()
  # "=" stands as a word of its own.
  if [ "$cur" = = ]; then cur=; elif [ "$prev" = = ]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  [ "${COMP_WORDS[COMP_CWORD]}" = = ] || [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ] &&
    case $prev in
      --format) word="text classic html pprof speedscope folded json" ;;
      --by) word="line function file dir" ;;
      --sort) word="events bytes name" ;;
      --metric) word="inuse alloc peak temp inuse.count alloc.count peak.count
                      temp.count" ;;
      --trace-address) word="auto with without" ;;
      *) word= ;;
    esac
  if [ -n "${word+x}" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$word" -- "$cur")
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "--leak-only --human-readable --format= --by= --sort= --limit=
      -o --metric= --diff --min-share= --show-source --budget= --from= --to=
      --temp-within= --lifetimes --trace-address= --help --version" -- "$cur")
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
  else
    compopt -o default
  fi
  return 0
}

_ljrecord()
{
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
  COMPREPLY=()
  # Behind the program stand its own words.
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --) ((i++)) ;;&
      -o|--output|--sample|--duration|--library)
        if [ "${COMP_WORDS[i + 1]-}" = = ]; then ((i++)); fi
        ((i++)); continue ;;
      -*) continue ;;
    esac
    if [ "$i" -lt "$COMP_CWORD" ]; then
      declare -F _command_offset >/dev/null && _command_offset "$i" ||
        compopt -o default
      return 0
    fi
  done
  case $prev in
    --start|--stop|--snapshot|--status)
      mapfile -t COMPREPLY < <(compgen -W "$(ps -e -o pid=)" -- "$cur")
      return 0 ;;
    -o) compopt -o default; return 0 ;;
  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "-o --output= --sample= --stacks
      --duration= --wait --library= -q --quiet --start --stop --snapshot
      --status --help --version" -- "$cur")
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
  else
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  fi
  return 0
}

complete -F _ljparse ljparse
complete -F _ljrecord ljrecord
complete -o default ljelfsym

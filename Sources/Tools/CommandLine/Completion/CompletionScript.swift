/// The scripts that connect the completion of shells with ``CompletionRequest``, which does the work.
package enum CompletionScript: String, CaseIterable {
  case bash
  case zsh
  case fish

  package var text: String {
    switch self {
    case .bash: Self.bashText
    case .zsh: Self.zshText
    case .fish: Self.fishText
    }
  }

  /// Bash splits words at characters such as `:`, and replaces only what comes after the last of them.
  /// It inserts candidates as they are: names of radios are quoted.
  private static let bashText = #"""
    # bash completion for atto, printed by: atto completion bash
    _atto() {
      local rest=${COMP_LINE:0:COMP_POINT} word lead tail current quote='' breaks mode candidate i
      local -a words=()
      for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        lead=${rest%%[![:space:]]*}
        rest=${rest#"$lead"}
        if ((i == COMP_CWORD)); then word=$rest; fi
        if ((i == 0)) || [[ -n $lead ]]; then words+=("$word"); else words[-1]+=$word; fi
        rest=${rest#"$word"}
      done
      current=${words[-1]}
      if [[ $current == [\'\"]* ]]; then
        quote=${current:0:1} current=${current:1}
      else
        current=${current//\\/}
      fi
      for i in "${!words[@]}"; do words[i]=${words[i]//[\\\"\']/}; done
      words[-1]=$current
      breaks=${COMP_WORDBREAKS//[^:=@]/}
      tail=$current
      if [[ -z $quote && -n $breaks ]]; then tail=${current##*["$breaks"]}; fi
      lead=${current%"$tail"}
      COMPREPLY=()
      {
        read -r mode
        if [[ $mode == files ]]; then
          compopt -o filenames
          while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done \
            < <(compgen -f -- "${current#--*=}")
          return
        fi
        while IFS=$'\t' read -r candidate _; do
          candidate=${candidate#"$lead"}
          if [[ -n $quote ]]; then
            if [[ $candidate == *[\'\"\\\$\`!]* ]]; then continue; fi
          elif [[ $candidate == *[!A-Za-z0-9_./:=@,%+-]* ]]; then
            printf -v candidate %q "$candidate"
          fi
          COMPREPLY+=("$candidate")
        done
      } < <(command atto __complete "${words[@]:1}" 2>/dev/null)
      if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[:=/] ]]; then
        compopt -o nospace
      fi
    }
    complete -o nosort -F _atto atto
    """#

  private static let zshText = #"""
    #compdef atto
    # zsh completion for atto, printed by: atto completion zsh
    _atto() {
      local line candidate
      local -a lines whole whole_shown open open_shown
      lines=("${(@f)$(command atto __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
      if [[ ${lines[1]} == files ]]; then
        compset -P '--*='
        _files
        return
      fi
      for line in "${(@)lines[2,-1]}"; do
        candidate=${line%%$'\t'*}
        line=${line/$'\t'/  -- }
        if [[ $candidate == *[:=/] ]]; then
          open+=("$candidate") open_shown+=("$line")
        else
          whole+=("$candidate") whole_shown+=("$line")
        fi
      done
      compadd -V words -l -d whole_shown -a whole
      local -i found=$?
      compadd -V words -l -S '' -d open_shown -a open || return found
    }
    if [[ ${funcstack[1]} == _atto ]]; then _atto "$@"; else compdef _atto atto; fi
    """#

  private static let fishText = #"""
    # fish completion for atto, printed by: atto completion fish
    function __atto_complete
        set -l token (commandline -ct)
        set -l words (commandline -opc) (string unescape -- "$token"; or string trim -lc "'\"" -- "$token")
        set -l lines (command atto __complete $words[2..-1] 2>/dev/null)
        if test "$lines[1]" = files
            set -l lead (string match -r -- '^--[^=]*=' "$token")
            for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$token"))
                printf '%s%s\n' "$lead" $path
            end
        else if set -q lines[2]
            printf '%s\n' $lines[2..-1]
        end
    end
    complete -c atto -f -a '(__atto_complete)'
    """#
}

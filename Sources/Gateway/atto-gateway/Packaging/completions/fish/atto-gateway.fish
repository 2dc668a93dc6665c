# fish completion for atto-gateway
set -l asks '__fish_seen_subcommand_from status'
complete -c atto-gateway -n $asks -f
complete -c atto-gateway -n __fish_is_first_token -a status -d 'Show what a running gateway does'
complete -c atto-gateway -n "not $asks" -l check -r -F -d 'Check a configuration, and end'
complete -c atto-gateway -n "not $asks" -l help -d 'Print a short help'
complete -c atto-gateway -n "not $asks" -l version -d 'Print the version'
complete -c atto-gateway -l control -r -F -d 'The status socket of the gateway'
complete -c atto-gateway -n $asks -l json -d 'Print one JSON object'

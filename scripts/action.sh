#!/usr/bin/env bash
# What action.yml runs: `ckrules check` with annotations, and before it a SARIF file where one is
# asked for. Its environment has INPUT_PATHS and INPUT_ARGS (one a line), INPUT_ARCH, INPUT_SARIF.
# The exit code is that of `ckrules check`.
set -euo pipefail
cr=$'\r' # of workflows with Windows' line ends; `read` takes blanks off both ends of a line

: "${INPUT_ARGS:=}" "${INPUT_PATHS:=}" "${INPUT_SARIF:=}"
words=(check)
[[ -z "${INPUT_ARCH:-}" ]] || words+=(--arch "$INPUT_ARCH")
while read -r word; do
  [[ -z "$word" ]] || words+=("$word")
done <<<"${INPUT_ARGS//$cr/}"

paths=()
while read -r path; do
  [[ -z "$path" ]] || paths+=("$path")
done <<<"${INPUT_PATHS//$cr/}"
((${#paths[@]})) || paths=(.)

read -r INPUT_SARIF <<<"${INPUT_SARIF//$cr/}"
if [[ -n "${INPUT_SARIF:-}" ]]; then
  # Findings fail the step below; what cannot be read fails this one, after it is in the file.
  status=0
  ckrules "${words[@]}" --format sarif --exit-zero --quiet --output "$INPUT_SARIF" -- "${paths[@]}" || status=$?
  [[ ! -f "$INPUT_SARIF" ]] || echo "sarif=$INPUT_SARIF" >>"${GITHUB_OUTPUT:-/dev/null}"
  ((status == 0)) || echo "SARIF: ckrules check ended with $status" >&2
fi
exec ckrules "${words[@]}" --format github -- "${paths[@]}"

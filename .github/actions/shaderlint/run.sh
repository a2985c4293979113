#!/usr/bin/env bash
# Runs shaderlint with the words of SHADERLINT_ARGS; builds it first where there is none.
set -euo pipefail

if ! command -v shaderlint >/dev/null; then
    root=${RUNNER_TEMP:-/tmp}/shaderlint
    cargo install --quiet --locked --no-default-features --root "$root" \
        --path "$(dirname "$0")/../../../crates/shaderlint"
    PATH=$root/bin:$PATH
fi
# Patterns are left to shaderlint.
set -f
# shellcheck disable=SC2086
exec shaderlint $SHADERLINT_ARGS

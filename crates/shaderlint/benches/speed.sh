#!/usr/bin/env bash
# How fast the program is over real shaders, and beside tree-sitter alone: speed.sh FOLDER…
#
# Needs hyperfine and GNU time. Builds both programs first. Prints CPU times (user and system) too: on a machine that others
# use they say more than the time on the clock.
set -euo pipefail

[ $# -gt 0 ] || { echo "usage: $0 FOLDER…" >&2; exit 2; }
folders=("$@")
here=$(cd "$(dirname "$0")" && pwd)
manifest=$here/../../../Cargo.toml
cargo build --quiet --release --manifest-path "$manifest" -p shaderlint --no-default-features
cargo build --quiet --release --manifest-path "$manifest" -p shaderlint-hlsl --example bare_parse
target=$(cargo metadata --manifest-path "$manifest" --format-version 1 --no-deps |
    sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
shaderlint=${SHADERLINT:-$target/release/shaderlint}
bare=$target/release/examples/bare_parse
# A run after another one would look up what that found.
export SHADERLINT_NO_CACHE=1
lint=("$shaderlint" --isolated --quiet --output-format concise --exit-zero --profile cs_6_6)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Each folder is a project, as someone would look at it: all of them one after the other.
{
    echo '#!/usr/bin/env bash'
    printf 'folders=('; printf '%q ' "${folders[@]}"; echo ')'
    printf 'for folder in "${folders[@]}"; do '; printf '%q ' "${lint[@]}"; echo '"$folder" >/dev/null; done'
} >"$scratch/lint"
{
    echo '#!/usr/bin/env bash'
    printf '%q ' "$bare" "${folders[@]}"; echo '>/dev/null'
} >"$scratch/bare"
chmod +x "$scratch/lint" "$scratch/bare"

echo "== $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
"$bare" "${folders[@]}"
hyperfine --warmup 1 --runs "${RUNS:-3}" \
    --command-name 'tree-sitter alone' "$scratch/bare" \
    --command-name 'shaderlint, one thread' "RAYON_NUM_THREADS=1 $scratch/lint" \
    --command-name 'shaderlint, two threads' "RAYON_NUM_THREADS=2 $scratch/lint"

echo "== peak memory of one run, the five folders with most"
for folder in "${folders[@]}"; do
    RAYON_NUM_THREADS=2 command time --format "%M KiB  $(basename "$folder")" "${lint[@]}" "$folder" 2>&1 >/dev/null | tail -1
done | sort -rn | sed 5q

echo "== start-up"
hyperfine --warmup 5 --shell none --command-name 'shaderlint --version' "$shaderlint --version"

echo "== a file that grows: kernels with a ladder each, and functions with nothing to find"
for megabytes in 1 2 4 10; do
    awk -v bytes=$((megabytes * 1000000)) 'BEGIN {
        print "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[64];"
        for (n = 0; size < bytes; n++) {
            text = sprintf("uint mix%d(uint a, uint b) {\n    uint c = a * %du + b;\n    for (uint i = 0; i < 8; ++i) { c ^= c << 5; c += a & b; }\n    return c;\n}\n", n, n)
            if (n % 1000 == 0)
                text = text sprintf("[numthreads(64, 1, 1)]\nvoid main%d(uint gi : SV_GroupIndex) {\n    g[gi] = mix%d(Src[gi], gi);\n    GroupMemoryBarrierWithGroupSync();\n    for (uint s = 1; s < 64; s <<= 1) {\n        uint v = gi >= s ? g[gi - s] : 0;\n        GroupMemoryBarrierWithGroupSync();\n        g[gi] += v;\n        GroupMemoryBarrierWithGroupSync();\n    }\n    Out[gi] = g[gi];\n}\n", n, n)
            size += length(text)
            printf "%s", text
        }
    }' >"$scratch/$megabytes.hlsl"
    hyperfine --warmup 1 --runs "${RUNS:-3}" --command-name "$megabytes MB" "${lint[*]} $scratch/$megabytes.hlsl"
done

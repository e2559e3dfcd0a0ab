#!/bin/bash -eu
# Copyright 2026 The Fencepost Authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
#
################################################################################
# The tests of the fuzz targets, after build.sh in the same environment: each takes all inputs that are in the repository.
# Changes nothing in $SRC.

: "${OUT:?}"
inputs=$(mktemp -d)
trap 'rm -rf "$inputs"' EXIT
count=0
for archive in "$OUT"/*_fuzzer_seed_corpus.zip; do
  program=${archive%_seed_corpus.zip}
  folder=$inputs/$(basename "$program")
  python3 -m zipfile -e "$archive" "$folder"
  "$program" -runs=0 "$folder" >"$folder.log" 2>&1 || { cat "$folder.log"; echo "$(basename "$program"): FAILED"; exit 1; }
  echo "$(basename "$program"): $(find "$folder" -type f | wc -l) inputs, ok"
  count=$((count + 1))
done
[ "$count" -gt 0 ] || { echo "no targets in $OUT" >&2; exit 1; }

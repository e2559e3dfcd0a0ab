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
# Builds the fuzz targets the way OSS-Fuzz and ClusterFuzzLite want them. Runs in the folder of the project, wherever the
# script itself is. It takes CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE, OUT, WORK, and SRC for the sources of other
# libraries; of the machine it uses cmake, ninja, python3 and that compiler. tests/oss_fuzz_test.py checks what it makes.

: "${CC:?}" "${CXX:?}" "${LIB_FUZZING_ENGINE:?}" "${OUT:?}" "${WORK:?}"
if [ ! -f fuzz/tools/pack.py ]; then
  echo "build.sh: run this in the folder of the project" >&2
  exit 1
fi

options=(-G Ninja -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX")
# "None" has no flags of its own: those of the environment stay as they are.
options+=(-DCMAKE_BUILD_TYPE=None)
if command -v ccache >/dev/null; then
  options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

# Libraries whose sources the image brings are built with the same flags: they have to use the same C++ library, and they
# are instrumented as well. Where there are none, installed packages are taken.
for library in expected fmt json yaml-cpp; do
  [ -d "${SRC:-}/$library" ] || continue
  cmake -S "$SRC/$library" -B "$WORK/$library" "${options[@]}" -DCMAKE_INSTALL_PREFIX="$WORK/libraries" \
    -DBUILD_SHARED_LIBS=OFF -DEXPECTED_BUILD_TESTS=OFF -DFMT_TEST=OFF -DFMT_DOC=OFF -DJSON_BuildTests=OFF \
    -DYAML_BUILD_SHARED_LIBS=OFF -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF
  cmake --build "$WORK/$library" --target install
done

cmake -S . -B "$WORK/fencepost" "${options[@]}" -DCMAKE_PREFIX_PATH="$WORK/libraries" \
  -DFENCEPOST_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" -DFENCEPOST_STATIC_LIBRARIES=ON -DFENCEPOST_FUZZ_HIREDIS=OFF \
  -DFENCEPOST_UNITY_BATCH=16 \
  -DFENCEPOST_BUILD_SUITE=OFF -DFENCEPOST_BUILD_PLUGIN=OFF -DFENCEPOST_BUILD_TESTS=OFF -DFENCEPOST_BUILD_BENCHMARKS=OFF
cmake --build "$WORK/fencepost" --target fuzzers
python3 fuzz/tools/pack.py "$WORK/fencepost/bin" "$OUT"

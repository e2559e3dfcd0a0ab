# For arm64, from another machine, with clang, which compiles for all. CMAKE_SYSROOT is the folder of ci/arm64-root.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
foreach(tool AR RANLIB STRIP)
  string(TOLOWER ${tool} name)
  find_program(CMAKE_${tool} aarch64-linux-gnu-${name} REQUIRED)
endforeach()
# The program that compiles the scenarios is not static.
find_program(FENCEPOST_QEMU qemu-aarch64-static REQUIRED)
set(CMAKE_CROSSCOMPILING_EMULATOR ${FENCEPOST_QEMU} -L ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Assertions in headers name them: as they are installed, not where that folder is.
add_compile_options(-ffile-prefix-map=${CMAKE_SYSROOT}=)

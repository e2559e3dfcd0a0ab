# cmake -DSOURCE=dir -DOUTPUT=commit.h -P commit.cmake
# Writes the commit that SOURCE is at, and its date, where that has changed: what is not changed is not compiled again.
execute_process(COMMAND git -C ${SOURCE} log -1 --abbrev=7 --date=short "--format=%h, %cd" OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
if(NOT commit)
  set(commit "commit unknown")
elseif(changes)
  string(APPEND commit ", changed")
endif()
set(text "#define FENCEPOST_COMMIT \"${commit}\"\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()

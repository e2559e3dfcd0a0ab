# What is installed, and the packages: cmake --install BUILD --prefix DIR, or ci/package.
# The program finds its plugin from where it stands itself, so that the tree may be moved.
include(GNUInstallDirs)
# Who answers for the package: name <address>. For one that is no release nobody does: .invalid is reserved for addresses
# that do not exist. docs/RELEASING.md
set(FENCEPOST_CONTACT "$ENV{FENCEPOST_CONTACT}")
if(NOT FENCEPOST_CONTACT)
  set(FENCEPOST_CONTACT "Nobody <nobody@fencepost.invalid>")
endif()
set(made ${PROJECT_BINARY_DIR}/made_by_fencepost)

install(TARGETS fencepost RUNTIME DESTINATION bin)
install(TARGETS fencepost_statestore LIBRARY DESTINATION lib/fencepost)
if(FENCEPOST_BUILD_PAHO)
  install(TARGETS fencepost_paho LIBRARY DESTINATION lib/fencepost)
endif()
# The manual page and the completions come from the options of the program itself.
install(CODE "
  file(MAKE_DIRECTORY \"${made}\")
  set(emulator \"${CMAKE_CROSSCOMPILING_EMULATOR}\")
  foreach(file_and_words fencepost.1:manual fencepost.bash:completion:bash _fencepost:completion:zsh
      fencepost.fish:completion:fish)
    string(REPLACE : \";\" words \"\${file_and_words}\")
    list(POP_FRONT words file)
    execute_process(COMMAND \${emulator} \"$<TARGET_FILE:fencepost>\" \${words} OUTPUT_FILE \"${made}/\${file}\"
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND gzip -9nf \"${made}/fencepost.1\" COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${made}/fencepost.1.gz DESTINATION share/man/man1)
install(FILES ${made}/fencepost.bash DESTINATION share/bash-completion/completions RENAME fencepost)
install(FILES ${made}/_fencepost DESTINATION share/zsh/vendor-completions)
install(FILES ${made}/fencepost.fish DESTINATION share/fish/vendor_completions.d)
install(FILES README.md CHANGELOG.md SECURITY.md DESTINATION share/doc/fencepost)
install(FILES packaging/copyright DESTINATION share/doc/fencepost)
install(FILES packaging/lintian-overrides DESTINATION share/lintian/overrides RENAME fencepost)
# Debian wants a log in its own form, with a date; what has changed is in CHANGELOG.md.
install(CODE "
  execute_process(COMMAND git -c safe.directory=* -C \"${PROJECT_SOURCE_DIR}\" log -1 --format=%cD OUTPUT_VARIABLE date
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT date)
    string(TIMESTAMP date \"%a, %d %b %Y %H:%M:%S +0000\" UTC)
  endif()
  file(WRITE \"${made}/changelog\" \"fencepost (${PROJECT_VERSION}) unstable; urgency=medium\\n\\n\"
    \"  * See CHANGELOG.md.\\n\\n -- ${FENCEPOST_CONTACT}  \${date}\\n\")
  execute_process(COMMAND gzip -9nf \"${made}/changelog\" COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${made}/changelog.gz DESTINATION share/doc/fencepost)
install(DIRECTORY docs/ DESTINATION share/doc/fencepost/docs PATTERN decisions EXCLUDE)
install(DIRECTORY scenarios DESTINATION share/doc/fencepost)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fencepost)
set(CPACK_PACKAGE_CONTACT "${FENCEPOST_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Conformance suite of the state store protocol over MQTT 5")
set(CPACK_PACKAGE_DESCRIPTION
  "Certifies key-value stores that are spoken to over MQTT 5, and brings one\nto write clients against.")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The broker that hosts the reference store.
set(CPACK_DEBIAN_PACKAGE_DEPENDS mosquitto)
# What is stripped goes into a package of its own, fencepost-dbgsym.
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
include(CPack)

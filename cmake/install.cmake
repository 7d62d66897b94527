# What `cmake --install build --prefix DIR` puts where, beside the program itself (cli/CMakeLists.txt).
include(GNUInstallDirs)

install(DIRECTORY scenarios/ DESTINATION ${CMAKE_INSTALL_DATADIR}/plumbline/scenarios
        FILES_MATCHING PATTERN "*.json")
# README.md keeps its relative links: the folder docs stands beside it here too.
install(FILES README.md RESULTS.md RESULTS.svg CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY reports/community DESTINATION ${CMAKE_INSTALL_DOCDIR}/reports)

# The completion scripts and the manual page are printed by the program from its own tables, so they are made at
# installation. Columns: words behind `plumbline`, folder, file name.
if(TARGET plumbline AND NOT CMAKE_CROSSCOMPILING)
  foreach(row IN ITEMS "completion bash|bash-completion/completions|plumbline"
                       "completion zsh|zsh/site-functions|_plumbline"
                       "completion fish|fish/vendor_completions.d|plumbline.fish"
                       "man|man/man1|plumbline.1")
    string(REPLACE "|" ";" row ${row})
    list(GET row 0 words)
    list(GET row 1 folder)
    list(GET row 2 name)
    install(CODE "
      set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${folder}\")
      file(MAKE_DIRECTORY \"\${folder}\")
      message(STATUS \"Writing: \${folder}/${name}\")
      execute_process(COMMAND \"$<TARGET_FILE:plumbline>\" ${words}
                      OUTPUT_FILE \"\${folder}/${name}\" COMMAND_ERROR_IS_FATAL ANY)")
  endforeach()
endif()

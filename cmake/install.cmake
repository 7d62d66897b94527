# What `cmake --install build --prefix DIR` puts where, beside the program itself (cli/CMakeLists.txt).
include(GNUInstallDirs)

install(DIRECTORY scenarios/ DESTINATION ${CMAKE_INSTALL_DATADIR}/plumbline/scenarios
        FILES_MATCHING PATTERN "*.json")
# README.md keeps its relative links: the folder docs stands beside it here too.
install(FILES README.md RESULTS.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY reports/community DESTINATION ${CMAKE_INSTALL_DOCDIR}/reports)

# The completion scripts are printed by the program from its own tables, so they are made at
# installation. Columns: shell, folder, file name.
if(TARGET plumbline AND NOT CMAKE_CROSSCOMPILING)
  foreach(row IN ITEMS "bash|bash-completion/completions|plumbline"
                       "zsh|zsh/site-functions|_plumbline"
                       "fish|fish/vendor_completions.d|plumbline.fish")
    string(REPLACE "|" ";" row ${row})
    list(GET row 0 shell)
    list(GET row 1 folder)
    list(GET row 2 name)
    install(CODE "
      set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${folder}\")
      file(MAKE_DIRECTORY \"\${folder}\")
      message(STATUS \"Writing: \${folder}/${name}\")
      execute_process(COMMAND \"$<TARGET_FILE:plumbline>\" completion ${shell}
                      OUTPUT_FILE \"\${folder}/${name}\" COMMAND_ERROR_IS_FATAL ANY)")
  endforeach()
endif()

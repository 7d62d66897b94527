# plumbline_version(RESULT): the version of these sources. That of HEAD's tag (v1.2.3) where there is one, else
# the newest heading of CHANGELOG.md (## 1.2.3), so that an archive without git knows it too.
# tests/house/package_test.py compares what is made of it.
function(plumbline_version result)
  set(three_numbers "[0-9]+\\.[0-9]+\\.[0-9]+")
  set(changelog ${CMAKE_CURRENT_SOURCE_DIR}/CHANGELOG.md)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${changelog})
  find_package(Git QUIET)
  if(GIT_FOUND AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/.git)
    foreach(file IN ITEMS logs/HEAD refs/tags)  # written by every commit and checkout; by every tag
      if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/.git/${file})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/.git/${file})
      endif()
    endforeach()
    execute_process(COMMAND ${GIT_EXECUTABLE} tag --list "v[0-9]*" --points-at HEAD --sort=-version:refname
                    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE tags ERROR_QUIET)
    if("\n${tags}" MATCHES "\nv(${three_numbers})\n")
      set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
      return()
    endif()
  endif()
  file(STRINGS ${changelog} heading REGEX "^## ${three_numbers}" LIMIT_COUNT 1)
  if(NOT heading MATCHES "^## (${three_numbers})")
    message(FATAL_ERROR "${changelog} has no heading with a version, such as: ## 1.2.3")
  endif()
  set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

# Run by cpack when everything is installed in CPACK_TEMPORARY_DIRECTORY and before that is packed: what one kind of
# package has otherwise than `cmake --install`.
file(GLOB_RECURSE programs ${CPACK_TEMPORARY_DIRECTORY}/bin/plumbline ${CPACK_TEMPORARY_DIRECTORY}/usr/bin/plumbline)
list(GET programs 0 program)
get_filename_component(root ${program}/../.. ABSOLUTE)

# Modules of engines would make a package depend on the libraries of all of them (docs/engines.md).
file(REMOVE_RECURSE ${root}/lib/plumbline)
file(GLOB others ${root}/lib/*)
if(NOT others)
  file(REMOVE_RECURSE ${root}/lib)
endif()

if(CPACK_GENERATOR STREQUAL "DEB")
  foreach(tool IN ITEMS dpkg-shlibdeps file)  # without them cpack would leave Depends empty, or stop without a reason
    find_program(found_${tool} ${tool})
    if(NOT found_${tool})
      message(FATAL_ERROR "a .deb needs ${tool}: run scripts/packages.sh package")
    endif()
  endforeach()
  # Where Debian looks for them.
  file(RENAME ${root}/share/doc/plumbline/LICENSE ${root}/share/doc/plumbline/copyright)
  execute_process(COMMAND gzip -9n ${root}/share/man/man1/plumbline.1 COMMAND_ERROR_IS_FATAL ANY)
else()
  if(NOT EXISTS ${CPACK_PLUMBLINE_STATIC})
    message(FATAL_ERROR "there is no ${CPACK_PLUMBLINE_STATIC}: run scripts/static_binary.sh")
  endif()
  file(STRINGS ${CPACK_PLUMBLINE_STATIC} mark REGEX "${CPACK_PLUMBLINE_MARK}" LIMIT_COUNT 1)
  if(NOT mark)
    message(FATAL_ERROR "${CPACK_PLUMBLINE_STATIC} is of another build: run scripts/static_binary.sh")
  endif()
  file(COPY_FILE ${CPACK_PLUMBLINE_STATIC} ${program})
  file(CHMOD ${program} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()

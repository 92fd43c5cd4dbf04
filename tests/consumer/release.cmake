# SPDX-License-Identifier: BSD-3-Clause
# Makes the files of a release twice, and compares their checksums.
file(REMOVE_RECURSE ${FOLDER})
foreach(time IN ITEMS first second)
  execute_process(COMMAND ${RELEASE} ${FOLDER}/${time} COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${FOLDER}/${time}/SHA256SUMS ${time})
endforeach()
if(NOT first STREQUAL second)
  message(FATAL_ERROR "two releases of one commit differ:\n${first}${second}")
endif()

# Writes a C++ file that defines a string constant NAME with the content of one or more files:
#   cmake -DOUTPUT=... -DHEADER=... "-DTEXTS=NAME=FILE::FILE|NAME=FILE" -P Embed.cmake
# Removes references to source maps, because the maps are not embedded.
string(REPLACE "|" ";" texts "${TEXTS}")
set(code "#include \"${HEADER}\"\n\nnamespace shoal::app {\n\n")
foreach(text IN LISTS texts)
  string(REGEX MATCH "^([A-Za-z]+)=(.*)$" ignored "${text}")
  set(name ${CMAKE_MATCH_1})
  string(REPLACE "::" ";" files "${CMAKE_MATCH_2}")
  set(content "")
  foreach(file IN LISTS files)
    file(READ "${file}" part)
    string(REGEX REPLACE "\n//# sourceMappingURL=[^\n]*" "" part "${part}")
    string(APPEND content "${part}")
  endforeach()
  string(APPEND code "const std::string_view ${name} = R\"~embed~(${content})~embed~\";\n\n")
endforeach()
file(WRITE "${OUTPUT}" "${code}}  // namespace shoal::app\n")

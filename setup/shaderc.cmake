# Included behind every `project` of shaderc's sources (CMAKE_PROJECT_INCLUDE): SPIRV-Tools' headers are compiled once. It has these headers for
# precompilation, and uses them with Microsoft's compiler only.
if(PROJECT_NAME STREQUAL CMAKE_PROJECT_NAME)
    function(precompile_headers_of_spirv_tools)
        target_precompile_headers(SPIRV-Tools-opt PRIVATE "${CMAKE_SOURCE_DIR}/spirv-tools/source/opt/pch_source_opt.h")
        target_precompile_headers(SPIRV-Tools-static PRIVATE "${CMAKE_SOURCE_DIR}/spirv-tools/source/pch_source.h")
    endfunction()
    # When the whole folder has been read, and the libraries are known.
    cmake_language(DEFER CALL precompile_headers_of_spirv_tools)
endif()

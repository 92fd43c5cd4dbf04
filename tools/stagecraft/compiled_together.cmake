# SPDX-License-Identifier: BSD-3-Clause
# stagecraft_compile_together(target): those of the target's sources that these groups name are compiled together, a group in
# one run of the compiler, which takes a third of the time: the headers and templates that they share cost more than they do.
# What has no group is compiled alone. Names in the unnamed namespaces of a group's sources must differ.
set(stagecraft_source_groups
    "keras/ config_calls config_masks config_reader hdf5_process model_json model_reader operator_graph operator_groups operator_layers option_values own_layers read_rtneural recurrent_cells weights_reader"
    "onnx/ empty_tensors folding_axes onnx_constants onnx_file onnx_inlining onnx_inputs onnx_joining onnx_model"
    "onnx/ onnx_patterns onnx_types onnx_versions operator_table part_nodes product_nodes recurrent_nodes shape_nodes window_nodes"
    "onnx/export/ export_sequences export_simple export_windows onnx_builder onnx_bundle onnx_export"
    "onnx/operations/ activation_operations attention_operations axis_nodes broadcast_operations einsum_operations index_operations made_nodes"
    "onnx/operations/ microsoft_attention microsoft_nodes operation_nodes part_operations pooling_operations region_operations resize_operations sampling_operations"
    "onnx/operations/ tap_operations transform_operations word_operations word_reductions"
    "saved_model/ object_graph saved_model"
    "tensorflow/ graph_def graph_patterns lower_elementwise lower_movement lower_products lower_windows operation_table read_tensorflow"
    "keras/ operator_movement operator_reductions operator_words"
    "applications/ application_cache application_source"
    "arrays/ array_text bound_arguments numpy_functions numpy_random python_literal"
    "commands/ compile_command convert_command convert_options export_command export_formats import_command"
    "commands/ model_converters model_edits node_groups pipeline_command plan_command"
    "commands/ run_command run_inputs show_command signature_command"
    "onnx/loops/ control_nodes rolled_loops"
    "onnx/ onnx_folding onnx_operations"
    "onnx/ onnx_trace whole_ranges"
    "onnx/operations/ composed_nodes recurrent_operations state_operations"
    "onnx/operations/ folding_quantized quantized_operations whole_products"
    "pipeline/ pipeline_configuration pipeline_program pipeline_search pipeline_solution"
    "source/ header_export identifier layer_stages source_steps"
    "source/ repeated_steps source_text"
    "source/ source_writer statement_writer test_writer written_layer"
    "tensorflow/ lowered_tensors lowering"
    "serve/ api json_reader rest_api server_metrics tensor_json"
    "serve/ kserve_api option_files text_message"
    "serve/ serve_command triton_api"
    "serve/http/ body_encoding http_connection http_front http_loop http_message http_session"
    "serve/models/ ensemble host_policies model_config model_watcher"
    "serve/models/ sequence_batcher served_models version_folders warm_up"
    "serve/settings/ request_traces settings_api")

set(stagecraft_tool_folder ${CMAKE_CURRENT_LIST_DIR})
function(stagecraft_compile_together target)
  set(number 0)
  foreach(group IN LISTS stagecraft_source_groups)
    math(EXPR number "${number} + 1")
    string(REPLACE " " ";" names ${group})
    list(POP_FRONT names folder)
    foreach(name IN LISTS names)
      set_source_files_properties(${stagecraft_tool_folder}/${folder}${name}.cpp PROPERTIES UNITY_GROUP group_${number})
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

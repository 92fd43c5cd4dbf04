// SPDX-License-Identifier: BSD-3-Clause
// Models, their pipeline stages and the checks of both, without anything that computes: needs neither xtensor nor
// xsimd.
#pragma once

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/constraints/constraints.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/activations/activations.hpp>
#include <stagecraft/initializers/initializers.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/functional.hpp>
#include <stagecraft/models/model.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/models/sequential.hpp>
#include <stagecraft/models/summary.hpp>
#include <stagecraft/pipeline/even_pipeline.hpp>
#include <stagecraft/pipeline/manual_pipeline.hpp>
#include <stagecraft/pipeline/pipeline_sequential.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/pipeline/schedule/timetable.hpp>
#include <stagecraft/pipeline/solution_file.hpp>
#include <stagecraft/pipeline/summary.hpp>
#include <stagecraft/regularizers/regularizers.hpp>
#include <stagecraft/version.hpp>

#include <stagecraft/diagnostics/end_headers.hpp>

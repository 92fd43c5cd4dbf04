// SPDX-License-Identifier: BSD-3-Clause
// Pictures of a model's graph, of a pipeline's timetable, of a real run and of a profile; and a profile's reports.
// report/profile_json.hpp, which needs another library, is not included.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/report/chrome_trace.hpp>
#include <stagecraft/report/plot_model.hpp>
#include <stagecraft/report/plot_profile.hpp>
#include <stagecraft/report/plot_timetable.hpp>
#include <stagecraft/report/profile_html.hpp>
#include <stagecraft/report/profile_text.hpp>
#include <stagecraft/report/profile_trace.hpp>

#include <stagecraft/diagnostics/end_headers.hpp>

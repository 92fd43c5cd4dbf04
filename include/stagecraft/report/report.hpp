// SPDX-License-Identifier: BSD-3-Clause
// Pictures: of a model's graph, of a pipeline's timetable, of a real run. Level 7.
#pragma once

#include <stagecraft/report/chrome_trace.hpp>
#include <stagecraft/report/plot_model.hpp>
#include <stagecraft/report/plot_timetable.hpp>

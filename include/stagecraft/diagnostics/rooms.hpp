// SPDX-License-Identifier: BSD-3-Clause
// The namespaces of the rooms: what no user names is in its room's, and each room sees those below it. stagecraft:: has
// what users name; detail, in which a header keeps what only it needs, sees all.
#pragma once

/// diagnostics/: what is said of mistakes.
namespace stagecraft::diagnostics {}  // namespace stagecraft::diagnostics

/// threads/: teams of threads and queues.
namespace stagecraft::threads {
using namespace diagnostics;
}  // namespace stagecraft::threads

/// graph/: the model as it is traced.
namespace stagecraft::tracing {
using namespace diagnostics;
using namespace threads;
}  // namespace stagecraft::tracing

/// models/: kinds of model.
namespace stagecraft::models {
using namespace diagnostics;
using namespace threads;
using namespace tracing;
}  // namespace stagecraft::models

/// pipeline/: who works on what, and when.
namespace stagecraft::pipeline {
using namespace diagnostics;
using namespace threads;
using namespace tracing;
using namespace models;
}  // namespace stagecraft::pipeline

/// description/: what is to be done.
namespace stagecraft::jobs {
using namespace diagnostics;
using namespace threads;
using namespace tracing;
using namespace models;
using namespace pipeline;
}  // namespace stagecraft::jobs

/// plan/: what every machine carries out.
namespace stagecraft::plan {
using namespace diagnostics;
using namespace threads;
using namespace tracing;
using namespace models;
using namespace pipeline;
using namespace jobs;
}  // namespace stagecraft::plan

/// host/: how the host carries it out.
namespace stagecraft::cpu {
using namespace diagnostics;
using namespace threads;
using namespace tracing;
using namespace models;
using namespace pipeline;
using namespace jobs;
using namespace plan;
}  // namespace stagecraft::cpu

/// ipu/: what tiles hold, do and cost.
namespace stagecraft::tiles {
using namespace diagnostics;
using namespace threads;
using namespace tracing;
using namespace models;
using namespace pipeline;
using namespace jobs;
using namespace plan;
using namespace cpu;
}  // namespace stagecraft::tiles

/// engine/: one execution after the other.
namespace stagecraft::engine {
using namespace diagnostics;
using namespace threads;
using namespace tracing;
using namespace models;
using namespace pipeline;
using namespace jobs;
using namespace plan;
using namespace cpu;
using namespace tiles;
}  // namespace stagecraft::engine

/// training/: what trainers and predictors are made of.
namespace stagecraft::trainers {
using namespace diagnostics;
using namespace threads;
using namespace tracing;
using namespace models;
using namespace pipeline;
using namespace jobs;
using namespace plan;
using namespace cpu;
using namespace tiles;
using namespace engine;
}  // namespace stagecraft::trainers

namespace stagecraft::detail {
using namespace diagnostics;
using namespace threads;
using namespace tracing;
using namespace models;
using namespace pipeline;
using namespace jobs;
using namespace plan;
using namespace cpu;
using namespace tiles;
using namespace engine;
using namespace trainers;
}  // namespace stagecraft::detail

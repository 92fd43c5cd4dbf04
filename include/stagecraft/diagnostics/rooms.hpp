// SPDX-License-Identifier: BSD-3-Clause
// The namespaces of the rooms: what no user names is in its room's, and each room sees those below it. stagecraft:: has
// what users name; detail, in which a header keeps what only it needs, sees all.
#pragma once

/// diagnostics/: what is said of mistakes.
namespace stagecraft::diagnostics {}  // namespace stagecraft::diagnostics

// Each names the next one below: what that one sees by its own directive is seen here, too.

/// threads/: teams of threads and queues.
namespace stagecraft::threads {
using namespace diagnostics;
}  // namespace stagecraft::threads

/// graph/: the model as it is traced.
namespace stagecraft::tracing {
using namespace threads;
}  // namespace stagecraft::tracing

/// models/: kinds of model.
namespace stagecraft::models {
using namespace tracing;
}  // namespace stagecraft::models

/// pipeline/: who works on what, and when.
namespace stagecraft::pipeline {
using namespace models;
}  // namespace stagecraft::pipeline

/// description/: what is to be done.
namespace stagecraft::jobs {
using namespace pipeline;
}  // namespace stagecraft::jobs

/// plan/: what every machine carries out.
namespace stagecraft::plan {
using namespace jobs;
}  // namespace stagecraft::plan

/// host/: how the host carries it out.
namespace stagecraft::cpu {
using namespace plan;
}  // namespace stagecraft::cpu

/// ipu/: what tiles hold, do and cost.
namespace stagecraft::tiles {
using namespace cpu;
}  // namespace stagecraft::tiles

/// engine/: one execution after the other.
namespace stagecraft::engine {
using namespace tiles;
}  // namespace stagecraft::engine

/// training/: what trainers and predictors are made of.
namespace stagecraft::trainers {
using namespace engine;
}  // namespace stagecraft::trainers

namespace stagecraft::detail {
using namespace trainers;
}  // namespace stagecraft::detail

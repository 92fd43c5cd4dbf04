// SPDX-License-Identifier: BSD-3-Clause
// The namespaces of the rooms. Names that no user writes are in the namespace of their room, and each room sees the
// names of the rooms below it. Rooms whose namespace is a vocabulary of users, such as `layers`, keep inner names in
// its `detail`. stagecraft:: has the names that users write.
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

/// machines/: what carries a plan out, in numbers.
namespace stagecraft::machines {
using namespace tracing;
}  // namespace stagecraft::machines

/// The vocabularies: operations, and what layers, losses, optimizers and metrics share.
namespace stagecraft::operations::detail {
using namespace machines;
}  // namespace stagecraft::operations::detail

namespace stagecraft::activations::detail {
using namespace operations::detail;
}  // namespace stagecraft::activations::detail

namespace stagecraft::layers::detail {
using namespace activations::detail;
}  // namespace stagecraft::layers::detail

namespace stagecraft::losses::detail {
using namespace layers::detail;
}  // namespace stagecraft::losses::detail

namespace stagecraft::optimizers::detail {
using namespace losses::detail;
}  // namespace stagecraft::optimizers::detail

namespace stagecraft::metrics::detail {
using namespace optimizers::detail;
}  // namespace stagecraft::metrics::detail

/// models/: kinds of model.
namespace stagecraft::models {
using namespace metrics::detail;
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

/// engine/: one execution after the other, on any machine.
namespace stagecraft::engine {
using namespace plan;
}  // namespace stagecraft::engine

/// host/: how the host carries a plan out.
namespace stagecraft::cpu {
using namespace engine;
}  // namespace stagecraft::cpu

/// ipu/: what tiles hold, do and cost.
namespace stagecraft::tiles {
using namespace cpu;
}  // namespace stagecraft::tiles

/// training/: what trainers and predictors are made of.
namespace stagecraft::trainers {
using namespace tiles;
}  // namespace stagecraft::trainers

/// report/: pictures and numbers of models, timetables and runs.
namespace stagecraft::reports {
using namespace trainers;
}  // namespace stagecraft::reports

/// Files, data and servers: vocabularies of users, too.
namespace stagecraft::io::detail {
using namespace reports;
}  // namespace stagecraft::io::detail

namespace stagecraft::data::detail {
using namespace reports;
}  // namespace stagecraft::data::detail

namespace stagecraft::serving::detail {
using namespace reports;
}  // namespace stagecraft::serving::detail

/// mpi/: several processes as one machine.
namespace stagecraft::mpi {
using namespace reports;
}  // namespace stagecraft::mpi

/// The inner names of all rooms, for code in stagecraft:: and in its vocabularies. Nothing is declared here.
namespace stagecraft::detail {
using namespace reports;
}  // namespace stagecraft::detail

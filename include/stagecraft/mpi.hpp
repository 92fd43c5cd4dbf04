// SPDX-License-Identifier: BSD-3-Clause
// Training on the ranks of MPI: sc::cluster. It needs stagecraft::mpi, and a program that mpirun, srun or nothing
// starts.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/mpi/cluster.hpp>
#include <stagecraft/mpi/cluster_trainer.hpp>
#include <stagecraft/stagecraft.hpp>

#include <stagecraft/diagnostics/end_headers.hpp>

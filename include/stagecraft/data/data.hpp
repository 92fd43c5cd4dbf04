// SPDX-License-Identifier: BSD-3-Clause
// Streamed data: `fit`, `evaluate` and `predict` take samples that need not fit in memory. Keras counterpart: tf.data.
// Readers of .npy and IDX files are in headers of their own, <stagecraft/data/npy.hpp> and idx.hpp.
#pragma once

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/data/csv.hpp>
#include <stagecraft/data/dataset.hpp>
#include <stagecraft/data/from.hpp>
#include <stagecraft/data/pad_sequences.hpp>
#include <stagecraft/data/split_dataset.hpp>
#include <stagecraft/data/stream.hpp>
#include <stagecraft/data/timeseries_dataset_from_array.hpp>
#include <stagecraft/data/zip.hpp>

#include <stagecraft/diagnostics/end_headers.hpp>

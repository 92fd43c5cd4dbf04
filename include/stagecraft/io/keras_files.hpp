// SPDX-License-Identifier: BSD-3-Clause
// Models and weights in Keras's own files: a program that includes this may call `sc::save_model(model, "digits.h5")`,
// also with "digits.keras" and "digits.weights.h5", and `model.load_weights` for each of them. Needs libhdf5: the CMake
// target stagecraft::hdf5.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/io/keras/keras_h5.hpp>
#include <stagecraft/io/keras/read_keras_training.hpp>
#include <stagecraft/io/keras/read_keras_weights.hpp>
#include <stagecraft/io/model_formats.hpp>
#include <stagecraft/io/weight_formats.hpp>

namespace stagecraft::io {

/// The formats that this header adds. Weights alone are only read, since Keras's files need the model.
struct keras_formats {
  model_format weights_h5{".weights.h5", &write_keras_weights_h5, &read_keras_training},
      h5{".h5", &write_keras_h5, &read_keras_training}, hdf5{".hdf5", &write_keras_h5, &read_keras_training},
      keras{".keras", &write_keras_archive, &read_keras_archive_training};
  weight_format h5_weights{".h5", &read_keras_h5}, hdf5_weights{".hdf5", &read_keras_h5},
      keras_weights{".keras", &read_keras_archive};

  keras_formats() {
    keras.next = added_model_formats;
    hdf5.next = &keras;
    h5.next = &hdf5;
    weights_h5.next = &h5;
    added_model_formats = &weights_h5;
    keras_weights.next = added_formats;
    hdf5_weights.next = &keras_weights;
    h5_weights.next = &hdf5_weights;
    added_formats = &h5_weights;
  }
};
inline keras_formats const added_keras_formats;

}  // namespace stagecraft::io

#include <stagecraft/diagnostics/end_headers.hpp>

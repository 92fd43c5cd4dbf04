// SPDX-License-Identifier: BSD-3-Clause
// The options of a model's `export_for_ipu_serving`, which is in serving/; nothing here includes that room.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// A feature of TensorFlow's tf.Example, and where its numbers go: tf.io.FixedLenFeature. Features of the same input
/// are joined in their order, and fill it.
struct example_feature {
  std::string name;        ///< key of the feature in examples
  std::string input = {};  ///< the application's input; empty: the one with the feature's name, or the only one
  /// "DT_FLOAT", "DT_INT64", or "DT_STRING" for an input of bytes, one text for each sample; an example with another
  /// kind of feature is an error. Empty: DT_STRING for inputs of bytes, DT_FLOAT for all others.
  std::string dtype = {};
  /// Shape of one sample; empty: the input's, or a number if the input has several features.
  std::vector<long long> shape = {};
  /// What an example without the feature has: as many numbers as the shape, or one for all of them; of an input of
  /// bytes, the text's bytes. Empty: such an example is an error.
  std::vector<float> default_value = {};
};

/// A signature by which a server's clients ask for classes: TensorFlow Serving's tensorflow/serving/classify.
struct classification {
  std::string scores = {};  ///< the output with a number for each class, (classes); empty: the only one
  std::vector<std::string> labels =
      {};       ///< names of the classes, in the output's order; none: answers have scores alone
  int top = 0;  ///< so many classes of the highest scores, the highest first; 0: all, in the output's order
  std::vector<example_feature> features = {};  ///< none: one for each input, with its name, which examples must have
};

/// A signature by which a server's clients ask for a number: TensorFlow Serving's tensorflow/serving/regress.
struct regression {
  std::string output = {};                     ///< an output with one number for each sample; empty: the only one
  std::vector<example_feature> features = {};  ///< none: one for each input, with its name, which examples must have
};

/// A signature of examples and its name: `{"rank", sc::regression{.output = "score"}}`. "serving_default" is the one
/// that clients get who name none; the signature of tensors is called "predict" then.
struct example_signature {
  std::string name;
  bool classifies;                        ///< false: it is a regression
  std::string output;                     ///< empty: the only one
  std::vector<std::string> labels = {};   ///< a classification's
  int top = 0;                            ///< a classification's
  std::vector<example_feature> features;  ///< none: one for each input

  example_signature(std::string key, classification how)
      : name(std::move(key)),
        classifies(true),
        output(std::move(how.scores)),
        labels(std::move(how.labels)),
        top(how.top),
        features(std::move(how.features)) {}
  example_signature(std::string key, regression how)
      : name(std::move(key)), classifies(false), output(std::move(how.output)), features(std::move(how.features)) {}
};

/// Graphcore's arguments of `export_for_ipu_serving`, and how the application is compiled.
struct export_options {
  /// Samples of a batch. 0: the batch size of the model's inputs; E5092 if they have none.
  int batch_size = 0;
  /// Sizes of batches, TensorFlow Serving's allowed_batch_sizes: up to 16, increasing to the batch size (E5148), of a
  /// model without stages. A batch has the least of them that holds the samples that wait; each is a predictor of its
  /// own. None: the batch size alone.
  std::vector<int> allowed_batch_sizes = {};
  /// Names of the outputs; none: "output_0", "output_1" and so on. E5093 for another number of names, and for equal
  /// names.
  std::vector<std::string> output_names = {};
  /// Signatures of examples, by which servers classify and regress; "predict" is none of their names. E4187 for one
  /// that does not fit the inputs and outputs.
  std::vector<example_signature> signatures = {};
  /// A C++ header with the steps below, which is copied to the folder.
  std::string processing_header = {};
  /// The type of a step before the model, which has its own signature: see serving::application_options.
  std::string preprocessing_step = {};
  /// The type of a step after the model.
  std::string postprocessing_step = {};
  /// True: the content of the folder is removed first. False: a folder that is not empty is an error (E5091).
  bool purge_export_dir = false;
  /// Options of the program `stagecraft compile`, such as "--march", "x86-64-v3".
  std::vector<std::string> compile_arguments = {};
  /// The path of the program `stagecraft`; empty: the environment's STAGECRAFT_TOOL, or the program that PATH finds.
  std::string tool = {};
};

}  // namespace stagecraft

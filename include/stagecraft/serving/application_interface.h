// SPDX-License-Identifier: BSD-3-Clause
// The interface of an application, a shared object around a model that predicts: plain C, so that any program can load
// and run it. Everything that is returned lives as long as the shared object, but for programs.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of what stands here. Structures only grow at their ends, each time with a new number: who loads an
   application with a lower one reads nothing that came later. */
enum { stagecraft_interface_version = 2 };

/* What functions return. */
enum stagecraft_status {
  stagecraft_ok = 0,
  stagecraft_ended = 1,         /* the feed had no more batches */
  stagecraft_failed = 2,        /* the model, or the file of weights; the program can be run again */
  stagecraft_lacked = 3,        /* memory or threads; the program can be run again */
  stagecraft_unrecoverable = 4  /* anything else */
};

/* The text of an error; of no interest after stagecraft_ok and stagecraft_ended. */
struct stagecraft_message {
  char text[2048];
};

/* An input or output: float32, row by row. */
struct stagecraft_tensor {
  char const* name;
  int rank;
  int64_t const* shape; /* of one sample */
};

struct stagecraft_description {
  char const* name;
  int batch_size; /* samples of a batch, at most */
  int iterations; /* batches of a run, for each replica */
  int stages;
  int replicas;
  int input_count;
  struct stagecraft_tensor const* inputs;
  int output_count;
  struct stagecraft_tensor const* outputs;
  char const* stagecraft_version; /* of the library that it is made with: "major.minor.patch" */
  /* Since version 2: sizes of batches that it computes, increasing, the last one batch_size; 0: that one alone. */
  int batch_size_count;
  int const* batch_sizes;
};

/* Who gives a run its batches. Functions may be called on several threads of the program at once; no exception of C++
   leaves them. */
struct stagecraft_feed {
  void* context;
  /* Fills each input with a batch, of the least of the sizes that holds its samples; returns how many of them count, 0
     for none, or -1 to end the run. It may wait. */
  int (*feed)(void* context, int replica, float* const* inputs);
  /* Sees the outputs of the batches of each replica, in their order. */
  void (*take)(void* context, int replica, float const* const* outputs);
  /* Ends what `feed` waits for: it returns -1 then. */
  void (*cancel)(void* context);
};

struct stagecraft_program;

struct stagecraft_application {
  int interface_version;
  struct stagecraft_description const* (*describe)(void);
  /* A program with the weights of a file, .safetensors or .npz. */
  int (*create)(char const* weights, struct stagecraft_program** program, struct stagecraft_message* message);
  /* One run of `iterations` batches. One at a time for each program. */
  int (*run)(struct stagecraft_program* program, struct stagecraft_feed const* feed,
             struct stagecraft_message* message);
  void (*destroy)(struct stagecraft_program* program);
};

/* What each application defines. */
__attribute__((visibility("default"))) struct stagecraft_application const* stagecraft_get_application(void);

#ifdef __cplusplus
}
#endif

// SPDX-License-Identifier: BSD-3-Clause
// E4032: a weight is named that the model does not have.
// expect-error: has no weight '
// expect-error: it has dense/kernel, dense/bias, dense_1/kernel, dense_1/bias
// expect-error: [E4032]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .batch_size = 32};

#ifdef STAGECRAFT_BAD
auto kernel(sc::trainer<mlp, training>& model) { return model.weight<"dense_2/kernel">()(0, 0); }
#else
auto kernel(sc::trainer<mlp, training>& model) { return model.weight<"dense_1/kernel">()(0, 0); }
#endif

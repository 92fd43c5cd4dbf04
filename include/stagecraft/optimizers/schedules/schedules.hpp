// SPDX-License-Identifier: BSD-3-Clause
// Schedules of learning rates.
// Keras counterpart: the classes of the same names of tf.keras.optimizers.schedules.
#pragma once

#include <stagecraft/optimizers/learning_rate.hpp>
#include <stagecraft/optimizers/optimizer.hpp>

namespace stagecraft::optimizers::schedules {

/// A learning rate that falls by the same factor again and again. Keras:
/// tf.keras.optimizers.schedules.ExponentialDecay.
/// initial_learning_rate * decay_rate^(n / decay_steps) after n updates.
struct exponential_decay {
  /// The rate of the first update; not 0.
  float initial_learning_rate = 0;
  /// Updates in which the rate is multiplied by `decay_rate` once. At least 1 (E4089).
  int decay_steps = 0;
  /// The number that the rate is multiplied by.
  float decay_rate = 0;
  /// True if the exponent is a whole number, so that the rate falls in steps.
  bool staircase = false;

  constexpr operator learning_rate() const {  // NOLINT(google-explicit-constructor): used as an option of optimizers
    return {initial_learning_rate, rule{}, decay_steps, decay_rate, staircase};
  }

 private:
  struct rule {
    constexpr operations::tensor operator()(update_tracer& ops, operations::tensor initial,
                                            float const* numbers) const {
      ops.check_at_least_one("decay_steps", numbers[0]);
      auto const part = (ops.step() - 1) / numbers[0];
      return initial * pow(numbers[1], numbers[2] != 0 ? floor(part) : part);
    }
  };
};

/// A learning rate that falls as one over the number of updates. Keras: tf.keras.optimizers.schedules.InverseTimeDecay.
/// initial_learning_rate / (1 + decay_rate n / decay_steps) after n updates.
struct inverse_time_decay {
  /// The rate of the first update; not 0.
  float initial_learning_rate = 0;
  /// Updates in which 1 / rate grows by `decay_rate` / initial_learning_rate. At least 1 (E4089).
  int decay_steps = 0;
  /// The rate at which it falls.
  float decay_rate = 0;
  /// True if n / decay_steps is a whole number, so that the rate falls in steps.
  bool staircase = false;

  constexpr operator learning_rate() const {  // NOLINT(google-explicit-constructor): used as an option of optimizers
    return {initial_learning_rate, rule{}, decay_steps, decay_rate, staircase};
  }

 private:
  struct rule {
    constexpr operations::tensor operator()(update_tracer& ops, operations::tensor initial,
                                            float const* numbers) const {
      ops.check_at_least_one("decay_steps", numbers[0]);
      auto const part = (ops.step() - 1) / numbers[0];
      return initial / ((numbers[2] != 0 ? floor(part) : part) * numbers[1] + 1);
    }
  };
};

/// A learning rate that falls to an end along a power. Keras: tf.keras.optimizers.schedules.PolynomialDecay.
/// (initial_learning_rate - end_learning_rate) (1 - n / decay_steps)^power + end_learning_rate after n updates, and
/// end_learning_rate after decay_steps; with `cycle`, decay_steps is doubled, tripled and so on when they have passed.
struct polynomial_decay {
  /// The rate of the first update; not 0.
  float initial_learning_rate = 0;
  /// Updates after which the rate is `end_learning_rate`. At least 1 (E4089).
  int decay_steps = 0;
  /// The rate in the end.
  float end_learning_rate = 0.0001F;
  /// The power; 1: a line.
  float power = 1;
  /// True if the rate goes up again after decay_steps, to fall more slowly.
  bool cycle = false;

  constexpr operator learning_rate() const {  // NOLINT(google-explicit-constructor): used as an option of optimizers
    return {initial_learning_rate, rule{}, decay_steps, end_learning_rate, power, cycle};
  }

 private:
  struct rule {
    constexpr operations::tensor operator()(update_tracer& ops, operations::tensor initial,
                                            float const* numbers) const {
      ops.check_at_least_one("decay_steps", numbers[0]);
      auto const n = ops.step() - 1;
      auto part = minimum(n / numbers[0], 1.0F);
      if (numbers[3] != 0) part = n / (maximum(-floor(n / -numbers[0]), 1.0F) * numbers[0]);
      auto const left = 1 - part;
      return (initial - numbers[1]) * (numbers[2] == 1 ? left : pow(left, numbers[2])) + numbers[1];
    }
  };
};

/// A learning rate that changes at certain updates. Keras: tf.keras.optimizers.schedules.PiecewiseConstantDecay.
/// values[0] for the first boundaries[0] + 1 updates, then values[1] until boundaries[1] + 1 are done, and so on:
///
///     .learning_rate = schedules::piecewise_constant_decay{.boundaries = {30, 60}, .values = {0.1F, 0.01F, 0.001F}}
///
/// At most eight boundaries; those after the last one are 0.
struct piecewise_constant_decay {
  static constexpr int most = 8;
  /// The numbers of updates, less one, after which the rate changes.
  int boundaries[most]{};
  /// The rates, one more than boundaries.
  float values[most + 1]{};

  constexpr operator learning_rate() const {  // NOLINT(google-explicit-constructor): used as an option of optimizers
    learning_rate result(values[0], rule{});
    for (int i = 0; i < most; ++i) {
      result.numbers[i] = static_cast<float>(boundaries[i]);
      result.numbers[most + 1 + i] = values[i + 1];
    }
    result.numbers[most] = values[0];
    return result;
  }

 private:
  struct rule {
    constexpr operations::tensor operator()(update_tracer& ops, operations::tensor initial,
                                            float const* numbers) const {
      auto rate = initial;
      for (int i = 0; i < most && numbers[i] > 0; ++i)
        rate = where(ops.step() - 1 > numbers[i],
                     initial * (numbers[most + 1 + i] / number(*initial.list, numbers[most])), rate);
      return rate;
    }
  };
};

/// A learning rate that falls along half a wave. Keras: tf.keras.optimizers.schedules.CosineDecay.
/// initial_learning_rate ((1 - alpha) (1 + cos(pi n / decay_steps)) / 2 + alpha) after n updates, and
/// initial_learning_rate * alpha after decay_steps.
struct cosine_decay {
  /// The rate of the first update; not 0.
  float initial_learning_rate = 0;
  /// Updates after which the rate is at its end. At least 1 (E4089).
  int decay_steps = 0;
  /// The rate in the end, as a share of the first one.
  float alpha = 0;

  constexpr operator learning_rate() const {  // NOLINT(google-explicit-constructor): used as an option of optimizers
    return {initial_learning_rate, rule{}, decay_steps, alpha};
  }

 private:
  struct rule {
    constexpr operations::tensor operator()(update_tracer& ops, operations::tensor initial,
                                            float const* numbers) const {
      ops.check_at_least_one("decay_steps", numbers[0]);
      auto const part = minimum((ops.step() - 1) / numbers[0], 1.0F);
      return initial * ((cos(part * 3.14159265358979F) + 1) * (0.5F * (1 - numbers[1])) + numbers[1]);
    }
  };
};

/// A learning rate that falls along half waves, each longer and lower than the last one. Keras:
/// tf.keras.optimizers.schedules.CosineDecayRestarts.
/// cosine_decay, which begins again when it has ended: each time `t_mul` times as long, from `m_mul` times the height.
struct cosine_decay_restarts {
  /// The rate of the first update; not 0.
  float initial_learning_rate = 0;
  /// Updates of the first wave. At least 1 (E4089).
  int first_decay_steps = 0;
  /// The factor by which a wave is longer than the one before it.
  float t_mul = 2;
  /// The factor by which a wave is higher than the one before it.
  float m_mul = 1;
  /// The lowest rate, as a share of the first one.
  float alpha = 0;

  constexpr operator learning_rate() const {  // NOLINT(google-explicit-constructor): used as an option of optimizers
    return {initial_learning_rate, rule{}, first_decay_steps, t_mul, m_mul, alpha};
  }

 private:
  struct rule {
    constexpr operations::tensor operator()(update_tracer& ops, operations::tensor initial,
                                            float const* numbers) const {
      ops.check_at_least_one("first_decay_steps", numbers[0]);
      auto const waves = (ops.step() - 1) / numbers[0];  // waves as long as the first one
      float const longer = numbers[1];
      // A little is added, so that rounding does not delay a restart.
      auto const wave =
          longer == 1 ? floor(waves) : floor(log(waves * (longer - 1) + 1) / log(number(*waves.list, longer)) + 1e-9F);
      auto const length = pow(longer, wave);
      auto const part = longer == 1 ? waves - wave : (waves - (length - 1) / (longer - 1)) / length;
      auto const height = pow(numbers[2], wave) * (0.5F * (1 - numbers[3]));
      return initial * (height * (cos(part * 3.14159265358979F) + 1) + numbers[3]);
    }
  };
};

/// A learning rate that rises before it follows another schedule, for optimizers of large models.
/// Counterpart: WarmUp of TensorFlow's model garden.
/// n / warmup_steps times the initial rate for the first `warmup_steps` updates, n = 0, 1, ...; then the rate of
/// `learning_rate`, which counts all updates.
struct linear_warmup {
  /// The rate after these updates: a number or a schedule.
  stagecraft::learning_rate learning_rate = {};
  /// The number of updates during which the rate rises.
  int warmup_steps = 0;

  constexpr operator stagecraft::learning_rate() const {  // NOLINT(google-explicit-constructor): an optimizer's option
    auto result = learning_rate;
    result.warmup_steps = static_cast<float>(warmup_steps);
    return result;
  }
};

}  // namespace stagecraft::optimizers::schedules

// SPDX-License-Identifier: BSD-3-Clause
// A layer, a feed and a function for results that throw when they are told to, on whatever thread they run.
#pragma once

#include <stagecraft/layers/layer.hpp>
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>

namespace random_runs {

namespace sc = stagecraft;

/// Throws when it has been asked so often; not at all if the number is 0 or less.
class fuse {
 public:
  void set(int count) { left_ = count; }
  void burn(char const* text) {
    if (--left_ == 0) throw std::runtime_error(text);
  }
  [[nodiscard]] bool has_blown() const { return left_ <= 0; }

 private:
  std::atomic<int> left_ = 0;
};

inline fuse forward_fuse, backward_fuse, feed_fuse, results_fuse;

/// Gives what it gets, and may throw.
struct fused : sc::layer<fused> {
  static constexpr std::string_view class_name = "Fused";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  void forward(auto const& call) const {
    forward_fuse.burn("thrown by forward");
    std::copy_n(call.input().data(), call.input().size(), call.output().data());
  }
  void backward(auto const& call) const {
    backward_fuse.burn("thrown by backward");
    auto const dy = call.output_gradient();
    for (std::size_t i = 0; i < dy.size(); ++i) call.input_gradient()[i] += dy[i];
  }
};

/// A feed that may throw, before or after it has filled a part.
template <class Feed>
struct failing_feed {
  Feed feed;
  void operator()(auto& to, int replica, int step) const {
    if (step % 2 == 0) feed_fuse.burn("thrown by feed");
    feed(to, replica, step);
    if (step % 2 == 1) feed_fuse.burn("thrown by feed");
  }
};

}  // namespace random_runs

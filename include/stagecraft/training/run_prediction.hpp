// SPDX-License-Identifier: BSD-3-Clause
// `predict` of a trainer and of a predictor, and the outputs of all samples that it returns.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/processes.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/training/callbacks/callback_list.hpp>
#include <stagecraft/training/callbacks/progbar_logger.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <stagecraft/training/data/fit_options.hpp>
#include <stagecraft/training/data/xtensor.hpp>
#include <stagecraft/training/single_batch.hpp>
#include <stagecraft/training/step_runner.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

/// A tensor (samples, shape...) per output. Each step writes its own rows; steps may write at the same time.
template <class Session>
class prediction {
  template <std::size_t Output>
  static constexpr auto rank = static_cast<std::size_t>(Session::output_shape(Output).rank()) + 1;
  template <std::size_t Output>
  using tensor = xt::xtensor<float, rank<Output>>;
  using indices = std::make_index_sequence<Session::output_count>;

 public:
  /// Allocates the tensors.
  explicit prediction(std::ptrdiff_t samples)
      : samples_(samples), tensors_([samples]<std::size_t... Output>(std::index_sequence<Output...>) {
          return std::tuple<tensor<Output>...>(make<Output>(samples)...);
        }(indices{})) {}

  [[nodiscard]] std::ptrdiff_t samples() const noexcept { return samples_; }

  /// Copies the samples of a step to the rows from `first` on.
  template <class View>
  void copy(View const& step, std::ptrdiff_t first) {
    [&]<std::size_t... Output>(std::index_sequence<Output...>) { (copy_output<Output>(step, first), ...); }(indices{});
  }

  /// The rows of a batch.
  struct place {
    std::ptrdiff_t first = 0, samples = 0;
  };
  /// Places of batches, if processes exchange them.
  template <bool IsAlone>
  [[nodiscard]] static auto places([[maybe_unused]] int batches) {
    if constexpr (IsAlone)
      return no_queue{};
    else
      return std::vector<place>(static_cast<std::size_t>(batches));
  }
  /// Takes over the outputs of batches that replicas in other processes have predicted, and the places of these
  /// batches; places may leave room between them, which goes. Returns the number of samples.
  template <class Places>
  std::ptrdiff_t gather(Places& places)
    requires(!Session::sizes::processes::is_alone)
  {
    using processes = typename Session::sizes::processes;
    for (std::size_t batch = 0; batch < places.size(); ++batch) {
      int const from = process_of_results<typename Session::sizes>(static_cast<int>(batch) % Session::replicas);
      processes::send(from, &places[batch], sizeof(place));
      auto const [first, samples] = places[batch];
      [&]<std::size_t... Output>(std::index_sequence<Output...>) {
        (processes::send(from, std::get<Output>(tensors_).data() + first * Session::output_shape(Output).size(),
                         static_cast<std::size_t>(samples * Session::output_shape(Output).size()) * sizeof(float)),
         ...);
      }(indices{});
    }
    std::ptrdiff_t seen = 0;
    for (auto const& [first, samples] : places) {
      if (first != seen)
        [&]<std::size_t... Output>(std::index_sequence<Output...>) {
          (move_rows(std::get<Output>(tensors_).data(), Session::output_shape(Output).size(), first, samples, seen),
           ...);
        }(indices{});
      seen += samples;
    }
    return seen;
  }

  /// Drops all samples from this number on.
  void shorten(std::ptrdiff_t samples) {
    if (samples == samples_) return;
    prediction shorter(samples);
    [&]<std::size_t... Output>(std::index_sequence<Output...>) {
      (std::copy_n(std::get<Output>(tensors_).data(), std::get<Output>(shorter.tensors_).size(),
                   std::get<Output>(shorter.tensors_).data()),
       ...);
    }(indices{});
    *this = std::move(shorter);
  }

  /// The tensor, or a std::tuple of tensors if there are several outputs.
  [[nodiscard]] auto take() {
    if constexpr (Session::output_count == 1)
      return std::move(std::get<0>(tensors_));
    else
      return std::move(tensors_);
  }

 private:
  template <std::size_t Output>
  [[nodiscard]] static tensor<Output> make(std::ptrdiff_t samples) {
    std::array<std::size_t, rank<Output>> extents{static_cast<std::size_t>(samples)};
    for (std::size_t axis = 1; axis < extents.size(); ++axis)
      extents[axis] = static_cast<std::size_t>(Session::output_shape(Output)[static_cast<int>(axis) - 1]);
    return tensor<Output>::from_shape(extents);
  }

  static void move_rows(float* rows, std::ptrdiff_t size, std::ptrdiff_t from, std::ptrdiff_t count,
                        std::ptrdiff_t to) {
    std::copy_n(rows + from * size, count * size, rows + to * size);
  }

  template <std::size_t Output, class View>
  void copy_output(View const& step, std::ptrdiff_t first) {
    constexpr auto size = static_cast<std::ptrdiff_t>(Session::output_shape(Output).size());
    std::copy_n(step.prediction(Output), step.valid_samples() * size, std::get<Output>(tensors_).data() + first * size);
  }

  template <class Indices>
  struct tensors_of;
  template <std::size_t... Output>
  struct tensors_of<std::index_sequence<Output...>> {
    using type = std::tuple<tensor<Output>...>;
  };

  std::ptrdiff_t samples_;
  typename tensors_of<indices>::type tensors_;
};

/// The outputs of a step in the session's memory: an xtensor adaptor (samples, shape...), or a std::tuple of them.
template <class Session>
[[nodiscard]] auto view_outputs(std::array<float const*, Session::output_count> const& outputs,
                                std::ptrdiff_t samples) {
  auto const view = [&]<std::size_t Output>() {
    constexpr auto const& own = Session::output_shape(Output);
    std::array<std::size_t, static_cast<std::size_t>(own.rank()) + 1> extents{static_cast<std::size_t>(samples)};
    for (std::size_t axis = 1; axis < extents.size(); ++axis)
      extents[axis] = static_cast<std::size_t>(own[static_cast<int>(axis) - 1]);
    return xt::adapt(outputs[Output], extents[0] * static_cast<std::size_t>(own.size()), xt::no_ownership(), extents);
  };
  return [&]<std::size_t... Output>(std::index_sequence<Output...>) {
    if constexpr (sizeof...(Output) == 1)
      return view.template operator()<0>();
    else
      return std::tuple(view.template operator()<Output>()...);
  }(std::make_index_sequence<Session::output_count>{});
}

/// True if the run needs a bar of its own: as in Keras, a bar among the user's callbacks replaces it.
[[nodiscard]] inline bool needs_bar(int verbose, std::vector<callback*> const& given) {
  bool found = false;
  for (callback* each : given) found = found || (each != nullptr && each->is_progress_bar());
  return verbose != 0 && !found;
}

/// The outputs for one batch, in the session's memory.
template <class Session>
auto call_model(Session& session, sample_set const& x) {
  trainers::check_inputs<Session>(x);
  auto const count = x.count();
  check_one_batch(count, Session::batch);
  if constexpr (Session::graph.is_stateful()) check_full_batches("x", count, Session::batch, Session::batch);
  auto const rows = tracing::array_view<std::int32_t const>(samples_of_batch<Session::batch>).first(count);
  std::array<float const*, Session::output_count> results{};
  session.call([&](auto& to, int, int) { trainers::load_inputs<Session>(x, to, rows); },
               [&](auto const& step) {
                 for (std::size_t i = 0; i < results.size(); ++i) results[i] = step.prediction(i);
               });
  return view_outputs<Session>(results, count);
}

/// The outputs for `taken` batches, in their order. No batch is left out: replicas that have no batch in the last step
/// repeat the last one, and their outputs are dropped. `samples`: an upper bound of the number of samples.
template <class Trained>
auto predict_batches(Trained& model, batch_loader<typename Trained::session_type> const& data, epoch_order const& order,
                     std::ptrdiff_t samples, int batch_size, int taken, predict_options const& options) {
  using session = typename Trained::session_type;
  constexpr int replicas = session::replicas;
  constexpr bool is_alone = session::sizes::processes::is_alone;
  callbacks::progbar_logger bar;
  callback_list callbacks(options.callbacks);
  if (needs_bar(options.verbose, options.callbacks)) callbacks.prepend(bar);
  callbacks.set_model(model);
  step_counts const counts{(taken + replicas - 1) / replicas, session::described::training.steps_per_execution};
  callbacks.set_params({options.verbose, 1, counts.steps, false});
  step_runner<Trained, run_kind::prediction> predicted(model, callbacks, counts, data, order, batch_size, taken);
  prediction<session> result(samples);
  replica_results<session, run_kind::prediction> nothing;
  logs none;
  callbacks.on_predict_begin(none);
  std::ptrdiff_t seen = 0;
  [[maybe_unused]] auto places = prediction<session>::template places<is_alone>(taken);
  predicted.run(nothing, none, [&](auto const& view, int step) {
    int const batch = step * replicas + view.replica();
    if (batch >= taken) return;
    // A process that has the last stage alone reads no samples, and does not know how many those before are.
    auto const first =
        session::sizes::splits ? std::ptrdiff_t{batch} * batch_size : order.first_sample(batch, batch_size);
    result.copy(view, first);
    if constexpr (!is_alone) places[std::size_t(batch)] = {first, view.valid_samples()};
    if (batch == taken - 1) seen = first + view.valid_samples();
  });
  if constexpr (!session::sizes::processes::is_alone) seen = result.gather(places);
  result.shorten(seen);
  callbacks.on_predict_end(none);
  return result.take();
}

/// The outputs for all samples.
template <class Trained>
auto run_prediction(Trained& model, sample_set const& x, predict_options const& options) {
  using session = typename Trained::session_type;
  int const batch_size = batch_size_to_use(options.batch_size, session::batch);
  batch_loader<session> const data(x);
  if constexpr (session::graph.is_stateful()) check_full_batches("x", data.count(), batch_size, session::batch);
  epoch_order const order(data.count(), false, 0);
  int const batches = order.batches(batch_size);
  check_at_least("steps", options.steps, 0);
  check_steps("steps", options.steps, batches);
  int const taken = options.steps > 0 ? options.steps : batches;
  return predict_batches(model, data, order, std::min(data.count(), std::ptrdiff_t{taken} * batch_size), batch_size,
                         taken, options);
}

/// Predictions for a dataset: see data/dataset.hpp.
template <class Trained, class Data>
auto run_streamed_prediction(Trained& model, Data const& data, typename Data::predict_options const& options) {
  using session = typename Trained::session_type;
  check_at_least("steps", options.steps, 0);
  auto const stream = data.open(session::batch, false);
  int const batches = stream->batches_of_pass("steps", options.steps);
  stream->begin_epoch(0);
  check_steps("steps", options.steps, batches);
  int const taken = options.steps > 0 ? options.steps : batches;
  stream->expect_batches(taken);
  if constexpr (session::graph.is_stateful()) stream->expect_full_batches();
  epoch_order const order(*stream);
  return predict_batches(model, batch_loader<session>(stream->x()), order, std::ptrdiff_t{taken} * session::batch,
                         session::batch, taken, options.common());
}

}  // namespace stagecraft::trainers

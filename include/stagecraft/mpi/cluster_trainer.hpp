// SPDX-License-Identifier: BSD-3-Clause
// A trainer and a predictor on a cluster: all ranks call their functions, the first one shows and writes, and a failure
// of one ends all.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/mpi/cluster.hpp>
#include <stagecraft/mpi/placement.hpp>
#include <stagecraft/mpi/rank_group.hpp>
#include <stagecraft/mpi/rank_processes.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/execution_rules.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>
#include <cstddef>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::callbacks {

/// A callback that all ranks of a cluster call, not the first one alone. What it sets in the model, such as the
/// learning rate or `stop_training`, counts on the first rank. Logs are the same on all; a rank with some of the stages
/// has the weights of these alone.
///
///     sc::callbacks::on_all_ranks everywhere(watches_memory);
///     model.fit(x, y, {.callbacks = {&everywhere, &shows}});   // the first rank alone calls `shows`
class on_all_ranks : public callback {
 public:
  /// `called` outlives the runs.
  explicit on_all_ranks(callback& called) : called_(&called) {}

  void set_params(callback_params const& params) override { called_->set_params(params); }
  void set_model(trainers::trainable& model) override { called_->set_model(model); }
  void on_train_begin(logs& values) override { called_->on_train_begin(values); }
  void on_train_end(logs& values) override { called_->on_train_end(values); }
  void on_epoch_begin(int epoch, logs& values) override { called_->on_epoch_begin(epoch, values); }
  void on_epoch_end(int epoch, logs& values) override { called_->on_epoch_end(epoch, values); }
  void on_train_batch_begin(int batch, logs& values) override { called_->on_train_batch_begin(batch, values); }
  void on_train_batch_end(int batch, logs& values) override { called_->on_train_batch_end(batch, values); }
  void on_test_begin(logs& values) override { called_->on_test_begin(values); }
  void on_test_end(logs& values) override { called_->on_test_end(values); }
  void on_test_batch_begin(int batch, logs& values) override { called_->on_test_batch_begin(batch, values); }
  void on_test_batch_end(int batch, logs& values) override { called_->on_test_batch_end(batch, values); }
  void on_predict_begin(logs& values) override { called_->on_predict_begin(values); }
  void on_predict_end(logs& values) override { called_->on_predict_end(values); }
  void on_predict_batch_begin(int batch, logs& values) override { called_->on_predict_batch_begin(batch, values); }
  void on_predict_batch_end(int batch, logs& values) override { called_->on_predict_batch_end(batch, values); }

 private:
  callback* called_;
};

}  // namespace stagecraft::callbacks

namespace stagecraft::mpi {

/// Carries out `work`, whose failure ends all ranks. The first rank alone prints warnings.
template <class Work>
auto together(Work const& work) {
  struct warning {
    bool before = std::exchange(trainers::warns, rank_group::get().leads());
    ~warning() { trainers::warns = before; }
  } const of_first;
  try {
    return work();
  } catch (std::exception const& problem) {
    rank_group::get().fail(problem.what());
    throw;
  }
}
/// The first rank alone shows and calls back, but for callbacks::on_all_ranks.
template <class Options>
[[nodiscard]] Options options_of_rank(Options options) {
  if (rank_group::get().leads()) return options;
  options.verbose = 0;
  std::erase_if(options.callbacks,
                [](callback* each) { return dynamic_cast<callbacks::on_all_ranks*>(each) == nullptr; });
  return options;
}
/// Errors: E4180 stages are on several ranks.
template <class Session>
void check_stages(char const* what) {
  if constexpr (Session::sizes::splits)
    if (int const ranks = rank_group::get().count(); ranks > 1)
      throw_data_error("E4180", "%s: expected all stages in this process, found them on %d ranks", what, ranks);
}

/// The type behind `trainer<Model, Training, cluster<...>>`. All ranks make it, and call `fit`, `evaluate` and
/// `predict` with data of the same shapes, of which each reads the batches of its own replicas; all get the results.
/// When `fit` ends, all ranks have the same weights, optimizer's state and history. The weights, and what training
/// needs to go on, are those of the first rank, so that it is enough if that one has loaded or set them. Callbacks are
/// called, and bars and lines printed, by the first rank alone (but for callbacks::on_all_ranks), and `save` and
/// `save_weights` write there alone; `stop_training` and the learning rate hold for all. `operator()` and `set_weights`
/// are calls of one rank.
///
/// Errors: as a trainer; E4166 to E4172.
template <class Trainer, ranks Ranks>
class cluster_trainer : public Trainer {
  using processes = rank_processes<Ranks>;

 public:
  using Trainer::evaluate, Trainer::fit, Trainer::predict;
  using Trainer::Trainer;
  using typename Trainer::evaluation;

  training_history fit(sample_set const& x, sample_set const& y, fit_options const& options = {}) {
    return fit_together([&] { return Trainer::fit(x, y, options_of_rank(options)); });
  }
  template <class Data>
    requires requires { typename Data::fit_options; }
  training_history fit(Data const& dataset, typename Data::fit_options const& options = {}) {
    return fit_together([&] { return Trainer::fit(dataset, options_of_rank(options)); });
  }
  evaluation evaluate(sample_set const& x, sample_set const& y, evaluate_options const& options = {}) {
    return together([&] { return Trainer::evaluate(x, y, options_of_rank(options)); });
  }
  template <class Data>
    requires requires { typename Data::fit_options; }
  evaluation evaluate(Data const& dataset, typename Data::evaluate_options const& options = {}) {
    return together([&] { return Trainer::evaluate(dataset, options_of_rank(options)); });
  }
  auto predict(sample_set const& x, predict_options const& options = {}) {
    return together([&] { return Trainer::predict(x, options_of_rank(options)); });
  }
  template <class Data>
    requires requires { typename Data::predict_options; }
  auto predict(Data const& dataset, typename Data::predict_options const& options = {}) {
    return together([&] { return Trainer::predict(dataset, options_of_rank(options)); });
  }

  /// All stages in this process: a call of one rank. Errors: E4180 its stages are on several ranks.
  auto operator()(sample_set const& x) {
    check_stages<typename Trainer::session_type>("a call of the model");
    return Trainer::operator()(x);
  }
  auto predict_on_batch(sample_set const& x) {
    check_stages<typename Trainer::session_type>("predict_on_batch");
    return Trainer::predict_on_batch(x);
  }

  /// As a trainer's. Where `fit` ends with all of it on the first rank alone, other ranks have no copy: E4180.
  [[nodiscard]] std::vector<weight_array> get_weights() const override {
    if constexpr (Ranks.at_end == whole_model::on_first_rank)
      if (rank() > 0) check_stages<typename Trainer::session_type>("get_weights");
    return Trainer::get_weights();
  }
  [[nodiscard]] auto get_optimizer_weights() const {
    if constexpr (Ranks.at_end == whole_model::on_first_rank)
      if (rank() > 0) check_stages<typename Trainer::session_type>("get_optimizer_weights");
    if constexpr (Trainer::session_type::keeps_state())
      if (rank() > 0)
        throw_data_error("E4180", "get_optimizer_weights: expected rank 0, which collects the shards, found rank %d",
                         rank());
    return Trainer::get_optimizer_weights();
  }

  void save(std::string const& path) const {
    if (rank() == 0) Trainer::save(path);
  }
  template <class... Options>
  void save_weights(std::string const& path, Options const&... options) const {
    if (rank() == 0) Trainer::save_weights(path, options...);
  }

  /// Carries out `work` on the first rank, and returns what it returns, a number or a plain struct, on all ranks. All
  /// ranks call it: `int const epoch = model.on_first_rank([&] { model.load("digits"); return 3; });` An exception of
  /// the work ends all ranks.
  template <class Work>
    requires std::is_trivially_copyable_v<std::invoke_result_t<Work const&>>
  std::invoke_result_t<Work const&> on_first_rank(Work const& work) {
    return together([&] {
      processes::agree({.what = engine::process_round::work_of_first}, *this, false);
      std::invoke_result_t<Work const&> result{};
      if (rank() == 0) result = work();
      processes::share(&result, sizeof result);
      return result;
    });
  }

  /// The array that the first rank has, such as an xt::xtensor<float, 2> or a std::vector, as a whole on all ranks:
  /// `auto const means = model.from_first_rank(means_of_first);`. All ranks call it; what others give is replaced. Of
  /// samples, `scattered` sends each rank its own.
  template <class Array>
    requires std::is_trivially_copyable_v<typename Array::value_type>
  [[nodiscard]] Array from_first_rank(Array array) {
    return together([&] {
      processes::agree({.what = engine::process_round::work_of_first}, *this, false);
      auto const resize_to = [&](auto shape) {
        static_assert(std::is_trivially_copyable_v<decltype(shape)>, "an xt::xtensor, whose shape has a fixed length");
        processes::share(&shape, sizeof shape);
        if (rank() > 0) array.resize(shape);
      };
      if constexpr (requires { array.shape(); })
        resize_to(array.shape());
      else
        resize_to(array.size());
      processes::share(array.data(), array.size() * sizeof(typename Array::value_type));
      return std::move(array);
    });
  }

  /// Samples that the first rank alone has, such as those of a file of its host, for `fit`, `evaluate` and `predict`:
  /// `model.fit(model.scattered(x), model.scattered(y))`. All ranks call it with arrays of one type; what others give
  /// is not read. Before each epoch, evaluation and prediction, the first rank sends the others the samples that their
  /// replicas read in it, and nobody computes meanwhile; samples that a rank has already, as in an epoch that is not
  /// shuffled, are not sent again. A rank keeps these samples alone, about n / P of n on P ranks, and 4 bytes for each
  /// of all n. The bits are those of arrays that all ranks have. The first rank reads an lvalue in place, which
  /// outlives the runs. Errors: E2130 for a sample that is not here; E4167 where ranks give other arrays than the first
  /// one.
  template <class Array>
    requires trainers::SampleData<Array>
  [[nodiscard]] trainers::sample_source scattered(Array&& array) {
    return together([&] {
      processes::agree({.what = engine::process_round::work_of_first}, *this, false);
      return scattered_array(std::forward<Array>(array), processes::share);
    });
  }

  /// The number of this process, 0 for the first, and the number of processes.
  [[nodiscard]] static int rank() { return rank_group::get().rank(); }
  [[nodiscard]] static int ranks_here() { return rank_group::get().count(); }

 private:
  template <class Work>
  training_history fit_together(Work const& work) {
    return together([&] {
      share_state(engine::process_round::begin_of_fit);
      auto history = work();
      share_state(engine::process_round::end_of_fit);
      return history;
    });
  }
  /// All ranks take over what the first one needs to go on.
  void share_state(int when) {
    processes::agree({.what = when}, *this, true);
    auto& session = this->session();
    auto known = this->progress();
    processes::share(&known, sizeof known);
    this->set_progress(known);
    processes::share_state(session, when == engine::process_round::begin_of_fit);
  }

  struct agreement {
    explicit agreement(Trainer& model) {
      processes::template begin<typename Trainer::session_type>(model.session().learning_rate());
    }
  };
  agreement agreed_{*this};
};

/// The type behind `predictor<Model, Inference, cluster<...>>`. All ranks make it, and call `predict` with data of the
/// same shapes; each runs its own replicas or stages, and all get the results. The weights are those of the first rank,
/// so that it is enough if that one has loaded or set them. `operator()` and `set_weights` are calls of one rank.
///
/// Errors: as a predictor; E4166 to E4172, E4180.
template <class Predictor, ranks Ranks>
class cluster_predictor : public Predictor {
  using processes = rank_processes<Ranks>;
  using session_type = typename Predictor::session_type;

 public:
  using Predictor::predict;
  using Predictor::Predictor;

  auto predict(sample_set const& x, predict_options const& options = {}) {
    return together([&] { return Predictor::predict(x, options_of_rank(options)); });
  }
  template <class Data>
    requires requires { typename Data::predict_options; }
  auto predict(Data const& dataset, typename Data::predict_options const& options = {}) {
    return together([&] { return Predictor::predict(dataset, options_of_rank(options)); });
  }

  /// All stages in this process: a call of one rank. Errors: E4180 its stages are on several ranks.
  auto operator()(sample_set const& x) {
    check_stages<session_type>("a call of the model");
    return Predictor::operator()(x);
  }
  auto predict_on_batch(sample_set const& x) {
    check_stages<session_type>("predict_on_batch");
    return Predictor::predict_on_batch(x);
  }
  /// Predictors of one process share weights; here each rank has its own.
  void sharing_weights() = delete;

  void save(std::string const& path) const {
    if (rank() == 0) Predictor::save(path);
  }
  template <class... Options>
  void save_weights(std::string const& path, Options const&... options) const {
    if (rank() == 0) Predictor::save_weights(path, options...);
  }

  /// Samples that the first rank alone has, for `predict`: as a trainer's `scattered`.
  template <class Array>
    requires trainers::SampleData<Array>
  [[nodiscard]] trainers::sample_source scattered(Array&& array) {
    return together([&] {
      static_cast<void>(compare_intentions(
          {{.what = engine::process_round::work_of_first}, {}, this->session().learning_rate(), {}}));
      return scattered_array(std::forward<Array>(array), processes::share);
    });
  }

  /// The number of this process, 0 for the first, and the number of processes.
  [[nodiscard]] static int rank() { return rank_group::get().rank(); }
  [[nodiscard]] static int ranks_here() { return rank_group::get().count(); }

 private:
  struct agreement {
    explicit agreement(Predictor& model) { processes::template begin<session_type>(model.session().learning_rate()); }
  };
  agreement agreed_{*this};
};

}  // namespace stagecraft::mpi

namespace stagecraft::trainers {

template <class Machine, ranks Ranks, network Network>
struct predictor_on<mpi::cluster_machine<Machine, Ranks, Network>> {
  template <class Predictor>
  using type = mpi::cluster_predictor<Predictor, Ranks>;
};

template <class Machine, ranks Ranks, network Network>
struct trainer_on<mpi::cluster_machine<Machine, Ranks, Network>> {
  template <class Trainer>
  using type = mpi::cluster_trainer<Trainer, Ranks>;
};

}  // namespace stagecraft::trainers

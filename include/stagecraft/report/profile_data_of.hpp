// SPDX-License-Identifier: BSD-3-Clause
// A profile that the compiler knows, as run-time values, with the memory of every single tile of an IPU.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/description/job_on.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/ipu/profile/memory_profile.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/plan/value_types.hpp>
#include <stagecraft/report/detail/profile_time_line.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::reports {

/// A tensor, or `copies` of them, of which each tile has a piece.
struct tensor_on_tiles {
  memory_category category = memory_category::weights;
  std::int64_t elements = 0;
  dtype type = dtype::float32;
  std::int64_t copies = 1;
  weight_mapping const* planned = nullptr;
};

template <class Job, int Device>
std::vector<tensor_on_tiles> tensors_on_tiles() {
  using variables = variables_on_tiles<Job>;
  constexpr auto const& graph = Job::graph;
  auto const& tiles = device_tiles_of<Job, Device>;
  auto const& flow = flow_of<Job>;
  std::vector<tensor_on_tiles> result;
  auto const elements = [&](std::size_t call) {
    return std::int64_t{Job::training.batch_size} * graph.calls[call].shape.size();
  };
  auto const add = [&](memory_category category, tile_place const& place, std::int64_t count, dtype type,
                       weight_mapping const* planned = nullptr) {
    if (place.exists()) result.push_back({category, count, type, place.depth, planned});
  };
  auto const& planned = planned_weights<Job>;
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    auto const& weight = graph.parameters[i];
    add(memory_category::weights, tiles.weight[i], weight.size(), variables::variable_type(weight), planned[i]);
    add(memory_category::optimizer_state, tiles.state[i], variables::state_elements(weight),
        variables::variable_type(weight), planned[i]);
  }
  for (std::size_t i = 0; i < graph.calls.size(); ++i) {
    auto const& layer = graph.layer_of(static_cast<int>(i));
    for (int k = layer.first_parameter; k < layer.first_parameter + layer.parameter_count; ++k)
      if (auto const& weight = graph.parameters[k]; weight.trainable && !variables::remote_accumulator(weight))
        add(memory_category::gradient_accumulators, tiles.accumulators[i], weight.size(), variables::accumulator_type,
            planned[k]);
    dtype const type = value_types_of<Job>[i];
    add(memory_category::activations, tiles.value[i], elements(i), type);
    add(memory_category::activations, tiles.gradient[i], elements(i), type);
    for (int edge = flow.first_edge[i]; edge >= 0; edge = flow.next_edge[edge])
      add(memory_category::activations, tiles.part[edge], elements(i), type);
    auto const& saved = all_saved_on_tiles<Job>[i];
    for (int k = 0; k < saved.count; ++k)
      add(memory_category::activations, tiles.saved[i], saved.tensors[k].elements, saved.tensors[k].type);
  }
  return result;
}

/// The bytes of a tile's piece, in whole loads.
inline std::int64_t bytes_of_piece(tensor_on_tiles const& tensor, ipu_target const& target, int tile) {
  tile_mapping const mapping({tensor_role::temporary, 0, tensor.type, tensor.elements, tensor.planned}, target);
  auto const elements = mapping.elements_of(tile);
  return tensor.copies * rounded_bytes(elements * size_of(tensor.type));
}

/// The memory of all tiles. Tile 0 is that of the profile. Other tiles have their own pieces of tensors that are always
/// there; for temporary tensors they count as tile 0, since no more is known of single steps. Transferred data are
/// divided among the I/O tiles.
template <class Job, int Device>
std::vector<profile_tile> tiles_of_profile() {
  auto const& memory = device_memory_profile_of<Job, Device>.tile;
  profile_tile for_io;
  if constexpr (Job::machine::io_tiles > 0)
    for_io[memory_category::batches] = ceil_div(device_memory_profile_of<Job, Device>.io_bytes, Job::machine::io_tiles);
  profile_tile full;
  full[memory_category::weights] = memory.weights;
  full[memory_category::optimizer_state] = memory.optimizer_state;
  full[memory_category::gradient_accumulators] = memory.gradient_accumulators;
  full[memory_category::activations] = memory.activations;
  full[memory_category::batches] = memory.batches;
  full[memory_category::code] = memory.code;
  full[memory_category::vertex_state] = memory.vertex_state;
  full[memory_category::exchange_code] = memory.exchange_code;
  full[memory_category::not_always_live] = memory.not_always_live;
  std::vector<profile_tile> tiles(Job::machine::target.tiles_per_ipu, full);
  for (auto const& tensor : tensors_on_tiles<Job, Device>()) {
    auto const most = bytes_of_piece(tensor, Job::machine::target, 0);
    for (int tile = 1; tile < Job::machine::target.tiles_per_ipu; ++tile)
      tiles[tile][tensor.category] -= most - bytes_of_piece(tensor, Job::machine::target, tile);
  }
  tiles.resize(tiles.size() + Job::machine::io_tiles, for_io);
  return tiles;
}

template <class Job>
class profile_data_maker {
  using own_profile = model_profile<Job>;
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& table = unchecked_timetable<typename Job::planned>;
  static constexpr bool trains = Job::trains;
  /// Periods of the steady state that are shown beyond the one in the shortened timetable.
  static constexpr std::int64_t periods_shown_again = 4;

 public:
  [[nodiscard]] profile_data make() {
    data_.model = graph.name();
    data_.machine = {std::string(std::string_view(Job::machine::target.name)),
                     own_profile::replicas(),
                     own_profile::ipus(),
                     Job::machine::target.tiles_per_ipu + Job::machine::io_tiles,
                     Job::machine::io_tiles,
                     Job::machine::target.bytes_per_tile,
                     Job::machine::target.tile_clock_frequency};
    data_.dtype_policy = policy_name();
    data_.trains = trains;
    data_.schedule = table.schedule();
    data_.device_of_stage.clear();
    for (int stage = 0; stage < table.stages(); ++stage) {
      data_.device_of_stage.push_back(table.device_of_stage(stage));
      if (table.is_beside(stage)) data_.stages_beside.push_back(stage);
    }
    data_.batch_size = Job::training.batch_size;
    data_.micro_batches = table.micro_batches();
    data_.batch_serialization = table.batch_serialization();
    data_.recomputation_mode = table.recomputation();
    data_.overlaps_io = table.overlaps_io();
    find_layers();
    find_time_line();
    for_each_index<table.devices()>([&]<int Device>() { add_ipu<Device>(); });
    data_.totals = {own_profile::cycles(),           own_profile::latency_cycles(),
                    own_profile::seconds(),          own_profile::samples_per_second(),
                    own_profile::latency(),          own_profile::bubble(),
                    own_profile::exchange_share(),   own_profile::flops(),
                    own_profile::flops_per_second(), own_profile::utilisation()};
    return std::move(data_);
  }

 private:
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  static std::string policy_name() {
    if (Job::training.dtype_policy == dtype_policies::mixed_float16) return "mixed_float16";
    return Job::training.dtype_policy == dtype_policies::float16 ? "float16" : "float32";
  }
  /// The name of a call in pictures of models: "shared[1]" is the second call of a layer.
  static std::string call_name(int call) {
    int const number = graph.call(call).node_index;
    return std::string(std::string_view(graph.layer_of(call).name)) +
           (number > 0 ? "[" + std::to_string(number) + "]" : "");
  }

  // The table of layers: calls in their order, then losses.
  void find_layers() {
    row_of_call_.assign(graph.calls.size(), -1);
    row_of_loss_.assign(graph.calls.size(), -1);
    for (int call = 0; call < static_cast<int>(graph.calls.size()); ++call)
      for (int pass = 0; pass < table.passes(); ++pass)
        for (profiled_step const& step : own_profile::steps(pass))
          if (step.call == call && !step.is_loss) add_row(row_of_call_[at(call)], call, pass, false);
    for (int pass = 0; trains && pass < table.passes(); ++pass)
      for (profiled_step const& step : own_profile::steps(pass))
        if (step.is_loss) add_row(row_of_loss_[at(step.call)], step.call, pass, true);
    for (int pass = 0; pass < table.passes(); ++pass)
      for (profiled_step const& step : own_profile::steps(pass))
        if (int const row = (step.is_loss ? row_of_loss_ : row_of_call_)[at(step.call)]; row >= 0)
          add_step(data_.layers[at(row)], step);
    add_weights();
    double const peak = static_cast<double>(own_profile::peak_flops_per_second()) /
                        static_cast<double>(Job::machine::target.tile_clock_frequency);
    for (auto& layer : data_.layers)
      if (layer.cycles() > 0)
        layer.utilisation = static_cast<double>(layer.flops) / (static_cast<double>(layer.cycles()) * peak);
  }
  void add_row(int& row, int call, int pass, bool is_loss) {
    if (row >= 0) return;
    row = static_cast<int>(data_.layers.size());
    data_.layers.emplace_back();
    auto& layer = data_.layers.back();
    layer.name = is_loss ? call_name(call) + " (loss)" : call_name(call);
    layer.class_name = is_loss ? "Loss" : std::string(graph.layer_of(call).class_name);
    layer.stage = table.stage_of_pass(pass);
    layer.ipu = table.device_of_pass(pass);
  }
  static void add_step(profile_layer& layer, profiled_step const& step) {
    auto& cycles = step.recomputed ? layer.recompute : step.backward ? layer.backward : layer.forward;
    add_cycles(cycles, step.cost);
    layer.temporary_bytes = std::max(layer.temporary_bytes, step.temporary_bytes);
    layer.bytes_exchanged += step.cost.bytes_exchanged;
    layer.flops += step.cost.flops;
  }
  static void add_cycles(profile_cycles& to, operation_cost const& cost) {
    to.compute += cost.compute_cycles;
    to.exchange += cost.exchange_cycles;
    to.sync += cost.sync_cycles;
  }
  /// A layer's weights belong to its first call.
  void add_weights() {
    for (auto const& layer : graph.layers) {
      int const row = layer.call_count > 0 ? row_of_call_[at(layer.first_call)] : -1;
      for (int i = layer.first_parameter; row >= 0 && i < layer.first_parameter + layer.parameter_count; ++i) {
        data_.layers[at(row)].weight_bytes +=
            graph.parameters[at(i)].size() * std::int64_t{size_of(variable_types_of<Job>[at(i)])};
        if constexpr (trains) add_cycles(data_.layers[at(row)].update, weight_profiles<Job>[at(i)].cost);
      }
    }
  }

  void find_time_line() {
    constexpr auto const& shortened = short_timetable_of<typename Job::planned>;
    profile_time_line_maker line(shortened.table);
    for (int pass = 0; pass < table.passes(); ++pass) {
      std::vector<profile_work> work;
      auto const kind = table.is_backward(pass) ? pass_kind::backward : pass_kind::forward;
      for (profiled_step const& step : own_profile::steps(pass))
        if (trains || !step.is_loss)
          work.push_back({step.recomputed ? pass_kind::recompute : kind,
                          (step.is_loss ? row_of_loss_ : row_of_call_)[at(step.call)], step.cost});
      work.push_back({kind, -1, own_profile::pass(pass).additions});
      line.add_pass(own_profile::pass(pass), std::move(work));
    }
    auto const add_slot = [&line](int slot) { line.add_slot(slot, slot_time_of<Job>(slot), pass_times<Job>); };
    int const period_end = shortened.first_slot + shortened.period;
    for (int slot = 0; slot < period_end; ++slot) add_slot(slot);
    if (shortened.left_out > 0) {
      auto const per_period =
          static_cast<int>((table.micro_batches() - shortened.table.micro_batches()) / shortened.left_out);
      auto const shown = std::min(shortened.left_out, periods_shown_again);
      for (std::int64_t i = 0; i < shown; ++i) {
        line.count_on(per_period);
        for (int slot = shortened.first_slot; slot < period_end; ++slot) add_slot(slot);
      }
      if (shown < shortened.left_out) line.leave_out(shortened.left_out - shown, shortened.period, per_period);
    }
    for (int slot = period_end; slot < shortened.table.slots(); ++slot) add_slot(slot);
    if constexpr (trains) {
      std::int64_t longest = 0;
      for (update_profile const& own : update_profiles<Job>) longest = std::max(longest, own.cycles());
      line.add_updates(update_profiles<Job>, longest, own_profile::update_cycles(), time_profile_of<Job>.update_sync);
    }
    data_.time_line = line.take();
  }

  template <int Device>
  void add_ipu() {
    auto const& memory = own_profile::memory(Device);
    profile_ipu ipu;
    ipu.ipu = Device;
    ipu.streaming_bytes = own_profile::streaming_bytes(Device);
    ipu.tiles = tiles_of_profile<Job, Device>();
    auto const cycles = own_profile::cycles_of(Device);
    ipu.cycles_of = {cycles.compute, cycles.exchange,  cycles.sync, cycles.inter_ipu,
                     cycles.host,    cycles.streaming, cycles.idle};
    auto const add_step = [&](std::string name, pass_kind pass, int stage, std::int64_t bytes,
                              operation_cost const& cost) {
      auto const more = std::max<std::int64_t>(bytes - memory.always_live_data(), 0);
      ipu.steps.push_back({std::move(name), pass, stage, memory.always_live(), more, cost.cycles()});
    };
    for (int pass = 0; pass < table.passes(); ++pass) {
      if (table.device_of_pass(pass) != Device) continue;
      for (profiled_step const& step : own_profile::steps(pass))
        add_step(step.is_loss ? call_name(step.call) + " (loss)" : call_name(step.call),
                 step.recomputed           ? pass_kind::recompute
                 : table.is_backward(pass) ? pass_kind::backward
                                           : pass_kind::forward,
                 table.stage_of_pass(pass), step.bytes(), step.cost);
    }
    if constexpr (trains)
      for (auto const& layer : graph.layers)
        for (int i = layer.first_parameter; i < layer.first_parameter + layer.parameter_count; ++i)
          if (auto const& weight = weight_profiles<Job>[at(i)]; weight.device == Device && weight.live_bytes > 0)
            add_step(std::string(std::string_view(layer.name)) + "/" +
                         std::string(std::string_view(graph.parameters[at(i)].name)),
                     pass_kind::weight_update, -1, weight.bytes(), weight.cost);
    data_.ipus.push_back(std::move(ipu));
  }

  profile_data data_;
  std::vector<int> row_of_call_, row_of_loss_;
};

}  // namespace stagecraft::reports

namespace stagecraft {

/// The profile of a training, or with execution_mode::inference of predictions, for reports.
///
///     sc::write_profile_html(sc::profile_data_of<two_stages, training, machine>(), "profile.html");
///
/// Tiles. Each tile has the bytes of its piece of tensors that are always there; code and temporary tensors are the
/// same on all tiles, as in `profile`. I/O tiles come last.
///
/// Time line. In each slot, an IPU first receives data from the host and from streaming memory, then carries out the
/// steps of its passes, and sends at the end, when all are done. Sync, exchange and compute are one event for each
/// step, though they alternate where a step has several exchanges. Repeated slots of a long time line are there a few
/// times only.
///
/// Errors: those of `profile`, except that the model need not fit.
template <Model M, auto Training, class Machine, execution_mode Mode = detail::mode_of<Training>>
[[nodiscard]] profile_data profile_data_of() {
  return detail::profile_data_maker<jobs::job_on<M, Training, Machine, Mode>>().make();
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>

// SPDX-License-Identifier: BSD-3-Clause
#include "serve/models/sequence_batcher.hpp"

#include "serve/http/http_message.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <algorithm>
#include <utility>

namespace stagecraft::tool {

namespace {

std::string key_of(sequence_request const& request) { return (request.is_text ? "t" : "n") + request.id; }

std::size_t place_of(std::vector<serving::tensor_spec> const& specs, std::string const& name, std::string const& model,
                     char const* what) {
  auto const found = std::find_if(specs.begin(), specs.end(), [&](auto const& one) { return one.name == name; });
  if (found == specs.end())
    throw file_error("E5301", "model '" + model + "': config.pbtxt has a state with the " + what + " '" + name +
                                  "', which the application does not have");
  return static_cast<std::size_t>(found - specs.begin());
}

/// The places below `count` that are not in `places`.
std::vector<std::size_t> others(std::size_t count, std::vector<std::size_t> const& places) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < count; ++i)
    if (std::find(places.begin(), places.end(), i) == places.end()) result.push_back(i);
  return result;
}

}  // namespace

sequence_batcher::sequence_batcher(std::string model, sequence_settings settings,
                                   serving::servable_description const& of)
    : model_(std::move(model)), settings_(std::move(settings)), visible_(of), input_count_(of.inputs.size()) {
  auto const fail = [&](std::string const& why) {
    throw file_error("E5301", "model '" + model_ + "': config.pbtxt " + why);
  };
  if (settings_.states.empty()) fail("has sequence_batching without a state");
  for (auto const& each : settings_.states) {
    state_inputs_.push_back(place_of(of.inputs, each.input, model_, "input"));
    state_outputs_.push_back(place_of(of.outputs, each.output, model_, "output"));
    auto const &from = of.outputs[state_outputs_.back()], &to = of.inputs[state_inputs_.back()];
    if (from.shape != to.shape)
      fail("has a state whose input '" + to.name + "' has shape " + io::shape_text(to.shape) + " and whose output '" +
           from.name + "' has " + io::shape_text(from.shape));
    if (each.shape && *each.shape != to.shape)
      fail("says that the state '" + to.name + "' has shape " + io::shape_text(*each.shape) + ", but it has " +
           io::shape_text(to.shape));
    sizes_.push_back(static_cast<std::size_t>(to.size()));
  }
  inputs_ = others(of.inputs.size(), state_inputs_);
  outputs_ = others(of.outputs.size(), state_outputs_);
  if (inputs_.size() + state_inputs_.size() != of.inputs.size() ||
      outputs_.size() + state_outputs_.size() != of.outputs.size())
    fail("has an input or output in two states");
  if (inputs_.empty() || outputs_.empty()) fail("leaves no input, or no output, that is no state");
  visible_.inputs.clear();
  visible_.outputs.clear();
  for (auto const place : inputs_) visible_.inputs.push_back(of.inputs[place]);
  for (auto const place : outputs_) visible_.outputs.push_back(of.outputs[place]);
}

void sequence_batcher::forget_idle(clock::time_point now) {
  while (!by_use_.empty() && by_use_.front()->waiting.empty() && now - by_use_.front()->last > settings_.idle)
    close(by_use_.front());
}

void sequence_batcher::close(sequence_pointer const& which) {
  auto const own = which;  // may be the list's
  if (!std::exchange(own->is_open, false)) return;
  auto const found = open_.find(own->key);
  by_use_.erase(found->second);
  open_.erase(found);
}

sequence_batcher::sequence_pointer sequence_batcher::find_or_start(sequence_request const& request) {
  auto const key = key_of(request);
  auto found = open_.find(key);
  if (request.starts) {
    // A sequence that begins anew ends the former one early; what waits for it goes on with the former state.
    if (found != open_.end()) close(*found->second);
    if (open_.size() >= settings_.most)
      throw http_error{
          503, "as many sequences of model '" + model_ + "' are open as may be: " + std::to_string(settings_.most)};
    auto made = std::make_shared<sequence>();
    made->key = key;
    for (auto const size : sizes_) made->states.emplace_back(size, 0.0F);
    by_use_.push_back(made);
    open_.emplace(key, std::prev(by_use_.end()));
    return made;
  }
  if (found == open_.end())
    throw http_error{400, "inference request for sequence " + request.id + " to model '" + model_ +
                              "' must specify the START flag on the first request of the sequence"};
  return *found->second;
}

sequence_batcher::tensors sequence_batcher::call(model_engines& runtime, tensors inputs, std::int64_t samples,
                                                 sequence_request const& request, std::chrono::microseconds time,
                                                 int priority) {
  if (request.id.empty())
    throw http_error{400,
                     "inference request to model '" + model_ + "' must specify a non-zero or non-empty correlation ID"};
  if (samples != 1)
    throw http_error{400, "inference request to model '" + model_ +
                              "' must specify batch-size 1 due to requirements of sequence batcher"};
  auto const begin = clock::now();
  auto const until = begin + time;
  std::unique_lock lock(mutex_);
  forget_idle(begin);
  auto const own = find_or_start(request);
  auto const turn = next_turn_++;
  own->waiting.push_back(turn);
  struct turn_end {
    ~turn_end() {
      if (!lock.owns_lock()) lock.lock();
      std::erase(of.waiting, turn);
      of.last = clock::now();
      if (of.is_open) all.by_use_.splice(all.by_use_.end(), all.by_use_, all.open_.find(of.key)->second);
      lock.unlock();
      all.turns_.notify_all();
    }
    sequence_batcher& all;
    sequence& of;
    std::unique_lock<std::mutex>& lock;
    std::uint64_t turn;
  } const ends{*this, *own, lock, turn};
  auto const has_turn = [&] { return own->waiting.front() == turn; };
  if (time.count() == 0)
    turns_.wait(lock, has_turn);
  else if (!turns_.wait_until(lock, until, has_turn))
    throw http_error{504, "the earlier requests of sequence " + request.id + " took longer than the call may take"};
  lock.unlock();
  auto left = time;
  if (time.count() > 0)
    left = std::max(std::chrono::duration_cast<std::chrono::microseconds>(until - clock::now()),
                    std::chrono::microseconds(1));
  auto result = run(runtime, own->states, std::move(inputs), left, priority);
  lock.lock();
  if (request.ends) close(own);
  return result;
}

sequence_batcher::tensors sequence_batcher::run(model_engines& runtime, tensors& states, tensors inputs,
                                                std::chrono::microseconds time, int priority) const {
  tensors all(input_count_);
  for (std::size_t i = 0; i < inputs.size(); ++i) all[inputs_[i]] = std::move(inputs[i]);
  for (std::size_t i = 0; i < states.size(); ++i) all[state_inputs_[i]] = states[i];
  auto outputs = runtime.call(std::move(all), 1, time, priority);
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = std::move(outputs[state_outputs_[i]]);
  tensors result;
  for (auto const place : outputs_) result.push_back(std::move(outputs[place]));
  return result;
}

bool sequence_batcher::has(sequence_request const& request) {
  std::scoped_lock const lock(mutex_);
  forget_idle(clock::now());
  return open_.contains(key_of(request));
}

std::size_t sequence_batcher::count() {
  std::scoped_lock const lock(mutex_);
  forget_idle(clock::now());
  return open_.size();
}

}  // namespace stagecraft::tool

// SPDX-License-Identifier: BSD-3-Clause
// Messages between the stages of a pipeline on several ranks: what is posted leaves while the rank goes on.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/mpi/rank_group.hpp>
#include <list>
#include <utility>
#include <vector>

namespace stagecraft::mpi {

/// The messages of an execution. All ranks begin it together; the messages in it differ from rank to rank.
class stage_messages {
 public:
  [[nodiscard]] static stage_messages& get() {
    static stage_messages messages;
    return messages;
  }

  void begin() { rank_group::operation const execution(rank_group::get()); }
  void post(int rank, int pass, std::vector<float>&& message) {
    while (!posted_.empty() && posted_.front().messages.is_done()) posted_.pop_front();
    auto& own = posted_.emplace_back(std::move(message));
    own.messages.send(own.floats.data(), own.floats.size() * sizeof(float), rank, tag_of(pass));
  }
  void take(int rank, int pass, std::vector<float>& message) {
    auto messages = rank_group::operation::part_of_another(rank_group::get());
    messages.receive(message.data(), message.size() * sizeof(float), rank, tag_of(pass));
    messages.wait();
  }
  void end() {
    for (; !posted_.empty(); posted_.pop_front()) posted_.front().messages.wait();
  }

 private:
  struct posted {
    explicit posted(std::vector<float>&& message) : floats(std::move(message)) {}
    std::vector<float> floats;
    rank_group::operation messages = rank_group::operation::part_of_another(rank_group::get());
  };
  [[nodiscard]] static constexpr int tag_of(int pass) noexcept { return (1 << 14) + pass; }

  std::list<posted> posted_;
};

}  // namespace stagecraft::mpi

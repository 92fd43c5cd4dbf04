// SPDX-License-Identifier: BSD-3-Clause
// Loads applications: shared objects with the interface of application_interface.h. Needs no compiler, and knows of no
// model's type.
#pragma once

#include <stagecraft/kernels/simd/processor_check.hpp>
#include <stagecraft/serving/application_interface.h>
#include <stagecraft/serving/detail/application_marker.hpp>
#include <stagecraft/serving/program.hpp>
#include <stagecraft/serving/serving_errors.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::serving {

/// An application that cannot be loaded: E5087 no shared object, or none of an application; E5088 it is compiled for a
/// newer processor, or for tiles of AMX that Linux does not give; E5089 for a later version of the interface.
class link_error : public serving_error {
 public:
  using serving_error::serving_error;
};

/// An application in a file.
class application_file {
 public:
  static constexpr char const* default_name = "application.so";  ///< of the file in an application's folder

  /// Reads for which processor the file is, and then loads it. `path`: the file, or the folder with application.so.
  /// Throws link_error E5087 to E5089; nothing of the file has been run then.
  explicit application_file(std::string path) : path_(std::move(path)) {
    if (auto const own = path_ + "/" + default_name; std::ifstream(own).good()) path_ = own;
    check_marker();
    auto const absolute = path_.find('/') == std::string::npos ? "./" + path_ : path_;
    auto* const handle = ::dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw link_error("E5087", path_ + ": cannot be loaded: " + ::dlerror());
    handle_ = std::shared_ptr<void>(handle, [](void* own) { ::dlclose(own); });
    auto* const symbol = ::dlsym(handle_.get(), "stagecraft_get_application");
    if (symbol == nullptr) throw link_error("E5087", path_ + ": has no function stagecraft_get_application");
    table_ = reinterpret_cast<stagecraft_application const* (*)()>(symbol)();
    auto const& found = *table_->describe();
    known_ = {.name = found.name,
              .batch_size = found.batch_size,
              .iterations = found.iterations,
              .stages = found.stages,
              .replicas = found.replicas,
              .inputs = specs_of(found.inputs, found.input_count),
              .outputs = specs_of(found.outputs, found.output_count)};
    if (table_->interface_version >= 2)
      known_.batch_sizes.assign(found.batch_sizes, found.batch_sizes + found.batch_size_count);
  }

  /// What is known of the program: shapes, batch size, stages.
  [[nodiscard]] program_description const& description() const noexcept { return known_; }

  /// A program with the weights of a file; `weights` empty: weights.safetensors beside the application. The program
  /// keeps the shared object. Throws application_runtime_error E5084 with what is wrong with the weights,
  /// recoverable_runtime_error E5085, unrecoverable_runtime_error E5086.
  [[nodiscard]] std::unique_ptr<program> make_program(std::string weights = {}) const {
    if (weights.empty()) {
      auto const slash = path_.find_last_of('/');
      weights = (slash == std::string::npos ? "" : path_.substr(0, slash + 1)) + "weights.safetensors";
    }
    stagecraft_program* made = nullptr;
    stagecraft_message message;
    raise(table_->create(weights.c_str(), &made, &message), message);
    return std::make_unique<loaded_program>(*this, made);
  }

 private:
  class loaded_program final : public program {
   public:
    loaded_program(application_file const& file, stagecraft_program* own)
        : handle_(file.handle_), table_(file.table_), known_(file.known_), own_(own) {}
    ~loaded_program() override { table_->destroy(own_); }

    [[nodiscard]] program_description const& description() const noexcept override { return known_; }
    void run(program_feed& feed) override {
      interface_feed own{feed, {}, {}};
      stagecraft_feed const given{&own, interface_feed::feed, interface_feed::take, interface_feed::cancel};
      stagecraft_message message;
      int const status = table_->run(own_, &given, &message);
      if (own.problem != nullptr) std::rethrow_exception(own.problem);
      if (status == stagecraft_ended) throw execution_ended{};
      raise(status, message);
    }

   private:
    struct execution_ended {};

    /// No exception of a feed goes through functions of C: it ends the execution, and is thrown behind them.
    struct interface_feed {
      program_feed& to;
      std::mutex mutex;
      std::exception_ptr problem;

      static int feed(void* context, int replica, float* const* inputs) noexcept {
        auto& own = *static_cast<interface_feed*>(context);
        int samples = program_feed::no_more;
        own.guard([&] { samples = own.to.feed(replica, inputs); });
        return samples;
      }
      static void take(void* context, int replica, float const* const* outputs) noexcept {
        auto& own = *static_cast<interface_feed*>(context);
        own.guard([&] { own.to.take(replica, outputs); });
      }
      static void cancel(void* context) noexcept { static_cast<interface_feed*>(context)->to.cancel(); }

      /// Does nothing once there is a problem.
      template <class Function>
      void guard(Function const& function) noexcept {
        {
          std::scoped_lock const lock(mutex);
          if (problem != nullptr) return;
        }
        try {
          function();
        } catch (...) {
          std::scoped_lock const lock(mutex);
          if (problem == nullptr) problem = std::current_exception();
        }
      }
    };

    std::shared_ptr<void> handle_;
    stagecraft_application const* table_;
    program_description known_;
    stagecraft_program* own_;
  };

  static void raise(int status, stagecraft_message const& message) {
    if (status == stagecraft_failed) throw application_runtime_error("E5084", message.text);
    if (status == stagecraft_lacked) throw recoverable_runtime_error("E5085", message.text);
    if (status != stagecraft_ok) throw unrecoverable_runtime_error("E5086", message.text);
  }

  [[nodiscard]] static std::vector<tensor_spec> specs_of(stagecraft_tensor const* tensors, int count) {
    std::vector<tensor_spec> specs;
    for (auto const* each = tensors; each != tensors + count; ++each)
      specs.push_back({each->name, {each->shape, each->shape + each->rank}});
    return specs;
  }

  /// E5087 to E5089, before anything of the file is run: its first instruction may be one that the processor lacks.
  void check_marker() const {
    std::ifstream file(path_, std::ios::binary);
    if (!file) throw link_error("E5087", path_ + ": cannot be read: " + std::strerror(errno));
    std::vector<char> const bytes{std::istreambuf_iterator<char>(file), {}};
    auto const& magic = detail::application_marker::magic;
    auto const found = std::search(bytes.begin(), bytes.end(), magic.begin(), magic.end());
    detail::application_marker marker;
    if (bytes.end() - found < static_cast<std::ptrdiff_t>(sizeof marker))
      throw link_error("E5087", path_ + ": is not an application");
    std::memcpy(&marker, &*found, sizeof marker);
    if (marker.interface_version < 1 ||
        marker.interface_version > static_cast<std::uint32_t>(stagecraft_interface_version))
      throw link_error("E5089", path_ + ": has version " + std::to_string(marker.interface_version) +
                                    " of the interface of applications, this program version " +
                                    std::to_string(static_cast<int>(stagecraft_interface_version)));
#if defined(__x86_64__)
    // Also what Linux refuses, at which the shared object would end the program when it is loaded.
    auto const present = kernels::detail::usable_instruction_sets(marker.instruction_sets);
    if (auto const missing = marker.instruction_sets & ~present; missing != 0) {
      std::string names;
      for (std::size_t i = 0; i < std::size(kernels::detail::instruction_set_names); ++i)
        if ((missing >> i & 1U) != 0)
          names += (names.empty() ? "" : ", ") + std::string(kernels::detail::instruction_set_names[i]);
      throw link_error(
          "E5088",
          path_ + ": is compiled for " + kernels::detail::level_of(marker.instruction_sets).name +
              (kernels::detail::level_of(marker.instruction_sets).sets == marker.instruction_sets ? "" : " and more") +
              ", but this processor lacks " + names +
              "; compile it with -march=" + kernels::detail::level_of(present).name);
    }
#endif
  }

  std::string path_;
  std::shared_ptr<void> handle_;
  stagecraft_application const* table_ = nullptr;
  program_description known_;
};

}  // namespace stagecraft::serving

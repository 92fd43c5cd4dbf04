// SPDX-License-Identifier: BSD-3-Clause
// Loads applications: shared objects with the interface of application_interface.h. Neither a compiler nor the model's
// type is needed. The shared object is loaded from a private copy of its file, which nobody else can change.
#pragma once

#include <stagecraft/kernels/simd/processor_check.hpp>
#include <stagecraft/serving/application_interface.h>
#include <stagecraft/serving/detail/application_marker.hpp>
#include <stagecraft/serving/servable.hpp>
#include <stagecraft/serving/serving_errors.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <fcntl.h>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace stagecraft::serving::detail {

/// An open file, which closes itself.
class file_descriptor {
 public:
  explicit file_descriptor(int of = -1) noexcept : own_(of) {}
  file_descriptor(file_descriptor&& other) noexcept : own_(std::exchange(other.own_, -1)) {}
  file_descriptor& operator=(file_descriptor other) noexcept {
    std::swap(own_, other.own_);
    return *this;
  }
  ~file_descriptor() {
    if (own_ >= 0) ::close(own_);
  }
  [[nodiscard]] int get() const noexcept { return own_; }
  [[nodiscard]] int release() noexcept { return std::exchange(own_, -1); }

 private:
  int own_;
};

/// Opens a file for reading without waiting: opening a pipe would wait until somebody writes to it. Symbolic links are
/// followed. Throws Error E5087 it cannot be read, E5200 it is a pipe, a socket, a device or a folder.
template <class Error>
[[nodiscard]] file_descriptor open_regular_file(std::string const& path) {
  file_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat known{};
  if (file.get() < 0 && errno != ENXIO)  // ENXIO: a socket, or a device that does not exist
    throw Error("E5087", path + ": cannot be read: " + std::strerror(errno));
  if (file.get() < 0 || ::fstat(file.get(), &known) != 0 || !S_ISREG(known.st_mode))
    throw Error("E5200", path + ": is not a regular file");
  return file;
}

/// A private copy of a file, in memory or, if Linux offers no such memory, in the folder of temporary files. The copy
/// is gone when the last descriptor and mapping of it is closed.
class private_file {
 public:
  /// Throws Error E5087, E5200 as above; E5201 the file has more than `most` bytes, E5202 it cannot be copied.
  template <class Error>
  [[nodiscard]] static private_file copy_of(std::string const& path, std::int64_t most) {
    auto const from = open_regular_file<Error>(path);
    private_file made;
    auto const refuse = [&] { throw Error("E5202", path + ": no copy can be made of it: " + std::strerror(errno)); };
    if (!made.create()) refuse();
    std::vector<char> piece(std::size_t{1} << 20);
    for (;;) {
      auto const count = ::read(from.get(), piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw Error("E5087", path + ": cannot be read: " + std::strerror(errno));
      if (count == 0) break;
      made.size_ += count;
      if (made.size_ > most)
        throw Error("E5201", path + ": has more than " + std::to_string(most) + " bytes, the most that are loaded");
      for (std::string_view left(piece.data(), static_cast<std::size_t>(count)); !left.empty();) {
        auto const written = ::write(made.file_.get(), left.data(), left.size());
        if (written < 0 && errno != EINTR) refuse();
        if (written > 0) left.remove_prefix(static_cast<std::size_t>(written));
      }
    }
    return made;
  }

  /// Calls `function` with its bytes.
  template <class Function>
  void read(Function const& function) const {
    if (size_ == 0) return function(std::string_view());
    auto const length = static_cast<std::size_t>(size_);
    void* const bytes = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file_.get(), 0);
    if (bytes == MAP_FAILED) throw std::bad_alloc();
    struct unmap {
      void* bytes;
      std::size_t length;
      ~unmap() { ::munmap(bytes, length); }
    } const ends{bytes, length};
    function(std::string_view(static_cast<char const*>(bytes), length));
  }

  /// No other file of the process has this path as long as the copy is there.
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }
  /// Leaves the copy open for ever.
  void keep() noexcept { (void)file_.release(); }

 private:
  private_file() = default;

  bool create() {
    file_ = file_descriptor(::memfd_create("stagecraft application", MFD_CLOEXEC));
    if (file_.get() >= 0) return true;
    char const* const folder = std::getenv("TMPDIR");
    auto name = std::string(folder != nullptr ? folder : "/tmp") + "/stagecraft-XXXXXX";
    file_ = file_descriptor(::mkostemp(name.data(), O_CLOEXEC));
    return file_.get() >= 0 && ::unlink(name.c_str()) == 0;
  }

  file_descriptor file_;
  std::int64_t size_ = 0;
};

}  // namespace stagecraft::serving::detail

namespace stagecraft::serving {

/// An application that cannot be loaded: E5087 no shared object, or none of an application; E5088 it is compiled for a
/// newer processor, or for tiles of AMX that Linux does not grant; E5089 for a later version of the interface; E5200
/// it, or its weights, are no regular file, but a pipe or the like; E5201 it has more than max_bytes; E5202 there is no
/// room for a copy.
class link_error : public serving_error {
 public:
  using serving_error::serving_error;
};

/// An application in a file.
class application_file {
 public:
  static constexpr char const* default_name = "application.so";  ///< name of the file in an application's folder

  static constexpr std::int64_t max_bytes = std::int64_t{1} << 30;  ///< most bytes of the shared object

  /// Checks the processor that the file is compiled for, and then loads it. `path`: the file, or the folder with
  /// application.so. A private copy is loaded, so later changes of the file do not change what runs. Throws link_error
  /// E5087 to E5089, E5200 to E5202, before anything of the file is run.
  explicit application_file(std::string path) : path_(std::move(path)) {
    struct stat known{};
    if (::stat(path_.c_str(), &known) == 0 && S_ISDIR(known.st_mode)) path_ = path_ + "/" + default_name;
    auto copy = detail::private_file::copy_of<link_error>(path_, max_bytes);
    copy.read([&](std::string_view bytes) { check_marker(bytes); });
    auto const private_path = copy.path();
    auto* const handle = ::dlopen(private_path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw link_error("E5087", path_ + ": cannot be loaded: " + problem_of(private_path));
    handle_ = std::make_shared<loaded_object>(std::move(copy), handle);
    auto* const symbol = ::dlsym(handle, "stagecraft_get_application");
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

  /// Names and shapes of inputs and outputs, batch size, iterations, stages.
  [[nodiscard]] servable_description const& description() const noexcept { return known_; }

  /// Makes a servable with the weights of a file; `weights` empty: weights.safetensors beside the application. It keeps
  /// the shared object. Throws application_runtime_error E5084 with the reason if the weights do not fit,
  /// recoverable_runtime_error E5085, unrecoverable_runtime_error E5086, link_error E5200.
  [[nodiscard]] std::unique_ptr<servable> make_servable(std::string weights = {}) const {
    if (weights.empty()) {
      auto const slash = path_.find_last_of('/');
      weights = (slash == std::string::npos ? "" : path_.substr(0, slash + 1)) + "weights.safetensors";
    }
    // The application itself reports wrong weights, but would wait for a pipe.
    if (::access(weights.c_str(), R_OK) == 0) (void)detail::open_regular_file<link_error>(weights);
    stagecraft_program* made = nullptr;
    stagecraft_message message;
    raise(table_->create(weights.c_str(), &made, &message), message);
    return std::make_unique<loaded_servable>(*this, made);
  }

 private:
  /// A shared object and its file. The loader knows the object by the path of its file: the file must live as long as
  /// the object, since another file could otherwise get that path and be taken for it.
  class loaded_object {
   public:
    loaded_object(detail::private_file file, void* handle)
        : file_(std::move(file)), path_(file_.path()), handle_(handle) {}
    loaded_object(loaded_object const&) = delete;
    loaded_object& operator=(loaded_object const&) = delete;
    ~loaded_object() {
      ::dlclose(handle_);
      // An object with variables that are unique in the process is never unloaded.
      if (auto* const still = ::dlopen(path_.c_str(), RTLD_LAZY | RTLD_NOLOAD); still != nullptr) {
        ::dlclose(still);
        file_.keep();
      }
    }

   private:
    detail::private_file file_;
    std::string path_;
    void* handle_;
  };

  class loaded_servable final : public servable {
   public:
    loaded_servable(application_file const& file, stagecraft_program* own)
        : handle_(file.handle_), table_(file.table_), known_(file.known_), own_(own) {}
    ~loaded_servable() override { table_->destroy(own_); }

    [[nodiscard]] servable_description const& description() const noexcept override { return known_; }
    void run(servable_feed& feed) override {
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

    /// Keeps exceptions of a feed from passing through functions of C: an exception ends the execution, and is thrown
    /// again afterwards.
    struct interface_feed {
      servable_feed& to;
      std::mutex mutex;
      std::exception_ptr problem;

      static int feed(void* context, int replica, float* const* inputs) noexcept {
        auto& own = *static_cast<interface_feed*>(context);
        int samples = servable_feed::no_more;
        own.guard([&] { samples = own.to.feed(replica, inputs); });
        return samples;
      }
      static void take(void* context, int replica, float const* const* outputs) noexcept {
        auto& own = *static_cast<interface_feed*>(context);
        own.guard([&] { own.to.take(replica, outputs); });
      }
      static void cancel(void* context) noexcept { static_cast<interface_feed*>(context)->to.cancel(); }

      /// Calls the function, unless there has been an exception.
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

    std::shared_ptr<loaded_object> handle_;
    stagecraft_application const* table_;
    servable_description known_;
    stagecraft_program* own_;
  };

  /// The loader's message, without the path of the copy, which no user knows.
  [[nodiscard]] static std::string problem_of(std::string const& private_path) {
    std::string text = ::dlerror();
    if (text.starts_with(private_path + ": ")) text.erase(0, private_path.size() + 2);
    return text;
  }

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

  /// Reports E5087 to E5089 before anything of the file is run, since its first instruction may be one that the
  /// processor lacks.
  void check_marker(std::string_view bytes) const {
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
    // Instruction sets that Linux refuses count as missing, since the shared object would end the program when it is
    // loaded.
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
  std::shared_ptr<loaded_object> handle_;
  stagecraft_application const* table_ = nullptr;
  servable_description known_;
};

}  // namespace stagecraft::serving

// SPDX-License-Identifier: BSD-3-Clause
#include "serve/shared_memory.hpp"

#include "serve/http/http_message.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace stagecraft::tool {

struct shared_regions::opened {
  opened(shared_region of, int descriptor) : region(std::move(of)), file(descriptor) {}
  opened(opened const&) = delete;
  opened& operator=(opened const&) = delete;
  ~opened() { ::close(file); }

  shared_region region;
  int file;
};

void shared_regions::add(shared_region const& region) {
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  int const file = ::shm_open(region.key.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file < 0) throw http_error{400, "Unable to open shared memory region: '" + region.key + "'"};
  auto made = std::make_shared<opened const>(region, file);
  struct stat is{};
  bool const is_regular = ::fstat(file, &is) == 0 && S_ISREG(is.st_mode);
  if (!is_regular || region.size == 0 || region.size > most || region.offset > most ||
      region.offset + region.size > static_cast<std::uint64_t>(is.st_size))
    throw http_error{400, "failed to register shared memory region '" + region.name + "': invalid args"};
  std::scoped_lock const lock(mutex_);
  if (!regions_.emplace(region.name, std::move(made)).second)
    throw http_error{400, "shared memory region '" + region.name + "' already in manager"};
}

void shared_regions::remove(std::string const& name) {
  std::scoped_lock const lock(mutex_);
  if (name.empty())
    regions_.clear();
  else
    regions_.erase(name);
}

std::vector<shared_region> shared_regions::list(std::string const& name) const {
  std::scoped_lock const lock(mutex_);
  std::vector<shared_region> result;
  for (auto const& [own, each] : regions_)
    if (name.empty() || name == own) result.push_back(each->region);
  if (!name.empty() && result.empty())
    throw http_error{400, "Unable to find system shared memory region: '" + name + "'"};
  return result;
}

std::shared_ptr<shared_regions::opened const> shared_regions::find(shared_part const& part) const {
  std::scoped_lock const lock(mutex_);
  auto const found = regions_.find(part.region);
  if (found == regions_.end()) throw http_error{400, "Unable to find shared memory region: '" + part.region + "'"};
  auto const& region = found->second->region;
  if (part.offset > region.size || part.size > region.size - part.offset)
    throw http_error{400, "Invalid offset + byte size for shared memory region: '" + part.region + "'"};
  return found->second;
}

std::string shared_regions::read(shared_part const& part) const {
  auto const from = find(part);
  std::string bytes(static_cast<std::size_t>(part.size), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    auto const at = static_cast<off_t>(from->region.offset + part.offset + done);
    auto const count = ::pread(from->file, bytes.data() + done, bytes.size() - done, at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw http_error{400, "shared memory region '" + part.region + "' has become shorter"};
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

void shared_regions::write(shared_part const& part, void const* bytes, std::size_t count) const {
  auto const to = find(part);
  struct stat is{};
  auto const begin = to->region.offset + part.offset;
  // A file that has become shorter would grow again.
  if (count > part.size || ::fstat(to->file, &is) != 0 || begin + count > static_cast<std::uint64_t>(is.st_size))
    throw http_error{400, "shared memory size specified with the request for output in region '" + part.region + "' (" +
                              std::to_string(part.size) + " bytes) should be at least " + std::to_string(count) +
                              " bytes"};
  for (std::size_t done = 0; done < count;) {
    auto const written =
        ::pwrite(to->file, static_cast<char const*>(bytes) + done, count - done, static_cast<off_t>(begin + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw http_error{503, "shared memory region '" + part.region + "' cannot be written"};
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace stagecraft::tool

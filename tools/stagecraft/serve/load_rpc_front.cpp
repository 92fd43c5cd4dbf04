// SPDX-License-Identifier: BSD-3-Clause
// The module of gRPC is loaded on demand: its libraries take 30 MB of addresses, and run code when a program begins.
#include "serve/server_calls.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <dlfcn.h>
#include <filesystem>
#include <system_error>

namespace stagecraft::tool {

std::unique_ptr<rpc_front> load_rpc_front(rpc_options const& options, server_calls& calls) {
  namespace fs = std::filesystem;
  constexpr char const* name = "stagecraft_grpc.so";
  std::error_code problem;
  auto const here = fs::read_symlink("/proc/self/exe", problem).parent_path();
  std::string path;
  for (auto const& folder : {here, here / STAGECRAFT_MODULE_FOLDER})
    if (path.empty() && fs::exists(folder / name, problem)) path = folder / name;
  if (path.empty())
    throw file_error("E5280", "--grpc_port: this program has no " + std::string(name) + " in " + here.string() +
                                  " or " + (here / STAGECRAFT_MODULE_FOLDER).lexically_normal().string() +
                                  ": it was built without gRPC (Debian's packages are libgrpc++-dev and "
                                  "protobuf-compiler-grpc), or its package is not installed");
  // It stays loaded: threads of gRPC may outlive its servers.
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  auto const make = module == nullptr ? nullptr : reinterpret_cast<rpc_front_maker>(::dlsym(module, rpc_front_symbol));
  if (make == nullptr) {
    auto const* const why = ::dlerror();
    throw file_error("E5281", path + ": cannot be loaded: " + (why == nullptr ? "no reason is known" : why));
  }
  return std::unique_ptr<rpc_front>(make(options, calls));
}

}  // namespace stagecraft::tool

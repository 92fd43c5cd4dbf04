// SPDX-License-Identifier: BSD-3-Clause
// Calls a model by gRPC from many connections, each of which has one call at a time, and prints what load.py prints of
// REST: calls a second, latencies, and errors.
//
//     grpc_load_client ADDRESS CONNECTIONS SECONDS MODEL INPUT=LENGTHxLENGTH...     one sample of zeros
#include "tensorflow_serving.grpc.pb.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
namespace api = tensorflow::serving;

/// What all connections share.
struct load {
  api::PredictRequest request;
  clock_type::time_point end;
  std::mutex mutex;
  std::condition_variable done;
  std::size_t open = 0;
  std::vector<float> milliseconds;
  std::map<std::string, int> errors;
};

/// One connection: the next call begins when the one before is answered.
class caller {
 public:
  caller(std::string const& address, load& all) : all_(all) {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // or equal channels would share a connection
    stub_ =
        api::PredictionService::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), own));
  }

  void call() {
    constexpr std::chrono::seconds most{30};
    context_ = std::make_unique<grpc::ClientContext>();
    context_->set_deadline(std::chrono::system_clock::now() + most);
    response_.Clear();
    begin_ = clock_type::now();
    stub_->async()->Predict(context_.get(), &all_.request, &response_, [this](grpc::Status const& status) {
      auto const now = clock_type::now();
      {
        std::scoped_lock const lock(all_.mutex);
        if (status.ok())
          all_.milliseconds.push_back(std::chrono::duration<float, std::milli>(now - begin_).count());
        else
          ++all_.errors[std::to_string(status.error_code()) + " " + status.error_message()];
        if (now >= all_.end) {
          if (--all_.open == 0) all_.done.notify_one();
          return;
        }
      }
      call();
    });
  }

 private:
  load& all_;
  std::unique_ptr<api::PredictionService::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  api::PredictResponse response_;
  clock_type::time_point begin_;
};

}  // namespace

int main(int count, char** arguments) {
  constexpr int first_input = 5;
  if (count <= first_input) {
    std::puts("grpc_load_client ADDRESS CONNECTIONS SECONDS MODEL INPUT=LENGTHxLENGTH...");
    return 1;
  }
  auto const connections = static_cast<std::size_t>(std::atoi(arguments[2]));
  int const seconds = std::atoi(arguments[3]);
  load all;
  all.request.mutable_model_spec()->set_name(arguments[4]);
  for (int i = first_input; i < count; ++i) {
    std::string const text = arguments[i];
    auto at = text.find('=');
    auto& tensor = (*all.request.mutable_inputs())[text.substr(0, at)];
    tensor.set_dtype(tensorflow::DT_FLOAT);
    tensor.mutable_tensor_shape()->add_dim()->set_size(1);
    std::size_t size = 1;
    for (; at != std::string::npos; at = text.find('x', at + 1)) {
      int const length = std::atoi(text.c_str() + at + 1);
      tensor.mutable_tensor_shape()->add_dim()->set_size(length);
      size *= static_cast<std::size_t>(length);
    }
    tensor.set_tensor_content(std::string(size * sizeof(float), '\0'));
  }
  std::vector<std::unique_ptr<caller>> callers;
  for (std::size_t i = 0; i < connections; ++i) callers.push_back(std::make_unique<caller>(arguments[1], all));
  auto const begin = clock_type::now();
  all.end = begin + std::chrono::seconds(seconds);
  all.open = connections;
  for (auto const& each : callers) each->call();
  std::unique_lock lock(all.mutex);
  all.done.wait(lock, [&] { return all.open == 0; });
  auto const time = std::chrono::duration<double>(clock_type::now() - begin).count();
  std::sort(all.milliseconds.begin(), all.milliseconds.end());
  auto const answered = all.milliseconds.size();
  auto const at = [&](double part) {
    return answered == 0 ? 0.0F : all.milliseconds[static_cast<std::size_t>(part * static_cast<double>(answered - 1))];
  };
  std::printf("%zu connections: %.0f calls/s, p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms, %zu answered\n", connections,
              static_cast<double>(answered) / time, static_cast<double>(at(0.5)), static_cast<double>(at(0.99)),
              static_cast<double>(at(0.999)), answered);
  for (auto const& [text, times] : all.errors) std::printf("%d times: %s\n", times, text.c_str());
  return all.errors.empty() ? 0 : 1;
}

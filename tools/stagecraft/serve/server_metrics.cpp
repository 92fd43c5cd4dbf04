// SPDX-License-Identifier: BSD-3-Clause
#include "serve/server_metrics.hpp"

#include <stagecraft/diagnostics/number_text.hpp>
#include <cstddef>
#include <cstdlib>
#include <string>

namespace stagecraft::tool {

namespace {

std::string number_text(double value) { return std::string(diagnostics::general_digits(value, 9)); }

/// Escapes the value of a label.
std::string escaped(std::string const& text) {
  std::string result;
  for (char const c : text) {
    if (c == '\\' || c == '"') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result;
}

}  // namespace

void server_metrics::count(int status, std::chrono::duration<double> time) {
  std::size_t place = 0;
  while (place < limits.size() && time.count() > limits[place]) ++place;
  std::scoped_lock const lock(mutex_);
  ++requests_[status];
  ++times_[place];
  seconds_ += time.count();
}

std::string server_metrics::text(served_models const& models) const {
  std::string text;
  {
    std::scoped_lock const lock(mutex_);
    text += "# HELP stagecraft_requests_total Requests that were answered.\n# TYPE stagecraft_requests_total counter\n";
    for (auto const& [status, count] : requests_)
      text += "stagecraft_requests_total{code=\"" + std::to_string(status) + "\"} " + std::to_string(count) + "\n";
    text +=
        "# HELP stagecraft_request_duration_seconds How long answers took, from the whole request on.\n"
        "# TYPE stagecraft_request_duration_seconds histogram\n";
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < times_.size(); ++i) {
      sum += times_[i];
      text += "stagecraft_request_duration_seconds_bucket{le=\"" +
              (i < limits.size() ? number_text(limits[i]) : std::string("+Inf")) + "\"} " + std::to_string(sum) + "\n";
    }
    text += "stagecraft_request_duration_seconds_sum " + number_text(seconds_) +
            "\nstagecraft_request_duration_seconds_count " + std::to_string(sum) + "\n";
  }
  struct row {
    char const *name, *type, *help;
    std::int64_t serving::runtime_statistics::* value;
  };
  using counts = serving::runtime_statistics;
  static constexpr row rows[]{
      {"calls_total", "counter", "Calls that were accepted.", &counts::calls},
      {"samples_total", "counter", "Samples of answered calls.", &counts::samples},
      {"refused_calls_total", "counter", "Calls that were refused.", &counts::refused_calls},
      {"failed_calls_total", "counter", "Calls that were answered by an error.", &counts::failed_calls},
      {"left_calls_total", "counter", "Calls whose callers left, or whose time was over.", &counts::left_calls},
      {"batches_total", "counter", "Batches with samples.", &counts::batches},
      {"dummy_batches_total", "counter", "Batches without samples, for a starved pipeline.", &counts::dummy_batches},
      {"executions_total", "counter", "Executions that were begun.", &counts::executions},
      {"failures_total", "counter", "Executions that ended with an error.", &counts::failures},
      {"begun_calls_total", "counter", "Calls whose first sample has come into a batch.", &counts::begun_calls},
      {"queue_duration_us_total", "counter", "Microseconds that these have waited for it.", &counts::queue_us},
      {"waiting_calls", "gauge", "Calls that wait for a place in a batch.", &counts::waiting},
      {"batches_in_flight", "gauge", "Batches with samples in the program.", &counts::in_flight}};
  for (auto const& each : rows) {
    text += "# HELP stagecraft_model_" + std::string(each.name) + " " + each.help + "\n# TYPE stagecraft_model_" +
            each.name + " " + each.type + "\n";
    for (auto const& [name, model] : *models.all())
      for (auto const& version : model->versions())
        text += "stagecraft_model_" + std::string(each.name) + "{model=\"" + escaped(name) + "\",version=\"" +
                std::to_string(version.number) + "\"} " + std::to_string(version.runtime->statistics().*each.value) +
                "\n";
  }
  constexpr char const* times = "stagecraft_model_call_duration_seconds";
  text += "# HELP " + std::string(times) +
          " How long successful calls took, since the version was loaded, at most a twentieth too long.\n# TYPE " +
          times + " summary\n";
  for (auto const& [name, model] : *models.all())
    for (auto const& version : model->versions()) {
      auto const labels = "{model=\"" + escaped(name) + "\",version=\"" + std::to_string(version.number) + "\"";
      for (auto const* part : {"0.5", "0.99", "0.999"})
        text += times + labels + ",quantile=\"" + part + "\"} " +
                number_text(version.times->quantile(std::strtod(part, nullptr))) + "\n";
      auto const sum = version.times->succeeded();
      text += times + ("_sum" + labels) + "} " + number_text(1e-9 * static_cast<double>(sum.nanoseconds)) + "\n";
      text += times + ("_count" + labels) + "} " + std::to_string(sum.calls) + "\n";
    }
  return text;
}

}  // namespace stagecraft::tool

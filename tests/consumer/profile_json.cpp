// SPDX-License-Identifier: BSD-3-Clause
// A consumer that reads and writes profiles as JSON.
#include <stagecraft/report/profile_json.hpp>

int main() {
  stagecraft::profile_data const profile{.model = "model"};
  return stagecraft::profile_from_json(stagecraft::profile_json(profile)) == profile ? 0 : 1;
}

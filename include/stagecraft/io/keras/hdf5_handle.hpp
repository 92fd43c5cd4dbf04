// SPDX-License-Identifier: BSD-3-Clause
// The owner of an object that libhdf5 has opened.
#pragma once

#include <hdf5.h>
#include <utility>

namespace stagecraft::io {

/// Closes the object of an identifier in its destructor.
class hdf5_handle {
 public:
  hdf5_handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  hdf5_handle(hdf5_handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  hdf5_handle(hdf5_handle const&) = delete;
  hdf5_handle& operator=(hdf5_handle const&) = delete;
  ~hdf5_handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const noexcept { return id_; }  // NOLINT(google-explicit-constructor): given to libhdf5

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

}  // namespace stagecraft::io

// SPDX-License-Identifier: BSD-3-Clause
// Nothing: CMake wants a source for whose sake it compiles headers once.

// SPDX-License-Identifier: BSD-3-Clause
// What a header that programs include reads last: what begin_headers.hpp has put aside is there again.

#pragma GCC diagnostic pop

#pragma pop_macro("check")
#pragma pop_macro("expect")
#pragma pop_macro("far")
#pragma pop_macro("input")
#pragma pop_macro("max")
#pragma pop_macro("min")
#pragma pop_macro("near")
#pragma pop_macro("output")
#pragma pop_macro("require")
#pragma pop_macro("small")
#pragma pop_macro("verify")

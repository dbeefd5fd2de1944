#pragma once
// Rounds up. Numbers must not be negative, divisors must be positive.

#include <concepts>
#include <type_traits>

namespace shoal {

template <std::integral T>
constexpr T ceil_divide(T n, std::type_identity_t<T> divisor) {
  return (n + divisor - 1) / divisor;
}

// Returns the smallest multiple of `multiple` that is at least n.
template <std::integral T>
constexpr T round_up(T n, std::type_identity_t<T> multiple) {
  return ceil_divide(n, multiple) * multiple;
}

}  // namespace shoal

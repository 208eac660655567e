// A callable of fixed size: what it captures lies within it, so that making or replacing one allocates nothing.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace gneiss {

template <class Signature, std::size_t Capacity>
class FixedFunction;

/// Like std::function, for callables of at most `Capacity` bytes that can be copied byte by byte (kernel arguments,
/// which are views and numbers). A larger one does not compile.
template <class Result, class... Args, std::size_t Capacity>
class FixedFunction<Result(Args...), Capacity> {
 public:
  FixedFunction() = default;

  template <class Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, FixedFunction>)
      FixedFunction(const Callable& callable)  // NOLINT(google-explicit-constructor): as std::function
      : call_([](const std::byte* held, Args... args) -> Result {
          return (*reinterpret_cast<const Callable*>(held))(args...);
        }) {
    static_assert(sizeof(Callable) <= Capacity, "the callable does not fit");
    static_assert(alignof(Callable) <= alignof(std::max_align_t));
    static_assert(std::is_trivially_destructible_v<Callable>, "what is captured must need no destructor");
    std::memcpy(held_, &callable, sizeof(Callable));
  }

  explicit operator bool() const { return call_ != nullptr; }
  Result operator()(Args... args) const { return call_(held_, args...); }

 private:
  Result (*call_)(const std::byte*, Args...) = nullptr;
  alignas(std::max_align_t) std::byte held_[Capacity];
};

}  // namespace gneiss

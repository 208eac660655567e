// Training scripts in Morphling's form, staged: the script runs once at compile time, its calls on the network are
// recorded, and what one epoch did becomes the program.
#pragma once

#include <string>
#include <vector>

#include "language/evaluator.h"

namespace gneiss::language {

class ScriptRunner : public Evaluator {
 public:
  using Evaluator::Evaluator;

  /// Runs the script and builds the network it describes. Arguments are those of its `int`, `float` … parameters.
  void run(const Definition& script, std::vector<GivenArgument> arguments);
  const ScriptSettings& settings() const { return settings_; }

 private:
  enum class EventKind : std::uint8_t { kForward, kBackward, kOptimizer };
  struct Event {
    EventKind kind = EventKind::kForward;
    std::int64_t layer = 0;
    std::string model;
    std::string aggregation;
    Span span;
    Span model_span;
    Span aggregation_span;
    std::vector<std::string> settings;  ///< of the optimizer, printed, to compare epochs
    bool operator==(const Event& other) const;
  };

  void bind_script(const Definition& script, std::vector<GivenArgument> arguments);
  void iterate(const Stmt& loop, const std::function<bool()>& more, const std::function<void()>& step) override;
  void compare_epochs(std::size_t first, std::size_t second, std::size_t end, const Stmt& loop);
  bool open_ended(const Stmt& loop) const;
  void check_open_parameters(const Definition& script);
  Value call_method(const Expr& call) override;
  Value call_graph_method(const Expr& call, const std::string& method);
  void initialize_layers(const Expr& call);
  void forward(const Expr& call);
  void backward(const Expr& call);
  void optimizer(const Expr& call);
  void read_optimizer(const std::vector<Value>& values, const Span& span, Event* event);

  void check_events(const Definition& script);
  void check_forward(const std::vector<Event>& layers);
  void check_backward(const std::vector<Event>& layers, const std::vector<Event>& backward, const Definition& script);
  std::vector<std::int64_t> layer_widths(const std::vector<Event>& layers);
  void build(const std::vector<Event>& layers);
  const Definition* layer_of(const Event& event);
  void add_aggregation(const Event& event, const Definition& layer, std::vector<GivenArgument>* arguments);
  void initialize_params();

  std::vector<Event> events_;
  std::vector<std::int64_t> sizes_;
  Span sizes_span_;
  bool has_sizes_ = false;
  bool has_epochs_ = false;
  const Stmt* epoch_loop_ = nullptr;
  std::vector<std::string> unbound_;  ///< int parameters that the caller left open
  ScriptSettings settings_;
};

}  // namespace gneiss::language

// The module gneiss._core: thin calls of the public C++ API. What a user sees is written in Python over it.
//
// Arguments are adopted with the GIL held; then it is released for as long as the library works, and taken back for
// callbacks and results.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include "arrays.h"
#include "errors.h"
#include "gneiss/gneiss.h"

namespace gneiss::python {
namespace {

RunConfig config_of(const nb::list& settings) {
  RunConfig config;
  for (nb::handle setting : settings) {
    config.set(nb::cast<std::string>(setting[0]), nb::cast<std::string>(setting[1]), nb::cast<std::string>(setting[2]));
  }
  return config;
}

template <class Work>
auto without_gil(const Work& work) {
  const nb::gil_scoped_release released;
  return work();
}

CompressedRows rows_of(nb::handle rows, const char* name) {
  if (rows.is_none()) return {};
  const std::string stem = name;
  return {adopt(rows[0], (stem + ".indptr").c_str()), adopt(rows[1], (stem + ".indices").c_str()),
          adopt(rows[2], (stem + ".data").c_str())};
}

LabelKind label_kind_of(const std::string& name) {
  if (const std::optional<LabelKind> kind = find_choice<LabelKind>(name)) return *kind;
  const std::vector<std::string> known(std::begin(Choices<LabelKind>::names), std::end(Choices<LabelKind>::names));
  const std::string near = nearest(name, known);
  throw Error(ErrorCode::kUsage, "unknown kind of labels '" + name + "'", "label_kind",
              near.empty() ? "there are auto, class, multi and regression" : "did you mean '" + near + "'?");
}

Dataset dataset_of(const nb::dict& given) {
  DatasetArrays arrays;
  arrays.name = nb::cast<std::string>(given["name"]);
  arrays.num_nodes = nb::cast<std::int64_t>(given["num_nodes"]);
  arrays.edge_index = adopt(given["edge_index"], "edge_index");
  arrays.edge_weight = adopt(given["edge_weight"], "edge_weight");
  arrays.csr = rows_of(given["csr"], "csr");
  arrays.csc = rows_of(given["csc"], "csc");
  arrays.x = adopt(given["x"], "x");
  arrays.sparse_x = rows_of(given["sparse_x"], "x");
  arrays.sparse_x_columns = nb::cast<std::int64_t>(given["sparse_x_columns"]);
  arrays.y = adopt(given["y"], "y");
  arrays.label_kind = label_kind_of(nb::cast<std::string>(given["label_kind"]));
  arrays.class_names = nb::cast<std::vector<std::string>>(given["class_names"]);
  arrays.train_mask = adopt(given["train_mask"], "train_mask");
  arrays.val_mask = adopt(given["val_mask"], "val_mask");
  arrays.test_mask = adopt(given["test_mask"], "test_mask");
  return without_gil([&] { return Dataset::from_arrays(arrays); });
}

nb::object lend_rows(const CompressedRows& rows) {
  if (!rows.given()) return nb::none();
  return nb::make_tuple(lend(rows.indptr, false), lend(rows.indices, false), lend(rows.values, false));
}

nb::dict arrays_of(const Dataset& dataset) {
  const DatasetArrays arrays = dataset.arrays();
  nb::dict out;
  out["csc"] = lend_rows(arrays.csc);
  out["x"] = lend(arrays.x, false);
  out["sparse_x"] = lend_rows(arrays.sparse_x);
  out["sparse_x_columns"] = arrays.sparse_x_columns;
  out["y"] = lend(arrays.y, false);
  out["label_kind"] = std::string(choice_name(arrays.label_kind));
  out["class_names"] = arrays.class_names;
  out["train"] = lend(arrays.train_mask, false);
  out["val"] = lend(arrays.val_mask, false);
  out["test"] = lend(arrays.test_mask, false);
  return out;
}

nb::dict start_of(const TrainingStart& start) {
  nb::dict out;
  out["model"] = start.model;
  out["dataset"] = start.dataset;
  out["metric"] = start.metric;
  out["parameters"] = start.parameters;
  out["runs"] = start.runs;
  out["epochs"] = start.epochs;
  out["plan_peak_bytes"] = start.plan_peak_bytes;
  out["notes"] = start.notes;
  out["warnings"] = start.warnings;
  return out;
}

/// A training that Python watches. Callbacks run under the GIL. The first exception of one ends the training after the
/// epoch, and is thrown when that has ended. Ctrl-C ends it too, without an exception, in a callback as elsewhere.
class Watched {
 public:
  Watched(nb::object on_start, nb::object on_epoch) : on_start_(std::move(on_start)), on_epoch_(std::move(on_epoch)) {}

  Progress progress() {
    Progress progress;
    if (!on_start_.is_none())
      progress.on_start = [this](const TrainingStart& start) { call([&] { on_start_(start_of(start)); }); };
    if (!on_epoch_.is_none()) progress.on_epoch = [this](const EpochProgress& epoch) { call([&] { tell(epoch); }); };
    progress.should_stop = [this] { return stop(); };
    progress.on_warning = [this](const std::string& text) { warnings_.push_back(text); };
    return progress;
  }

  /// What Python needs of the training, when it has ended.
  nb::dict result(const TrainResult& of) {
    if (failure_) std::rethrow_exception(failure_);
    nb::dict out;
    out["folder"] = of.run_folder;
    out["interrupted"] = of.interrupted;
    out["was_complete"] = of.was_complete;
    out["warnings"] = warnings_;
    return out;
  }

 private:
  template <class Body>
  void call(const Body& body) {
    if (failure_) return;
    const nb::gil_scoped_acquire gil;
    try {
      body();
    } catch (const nb::python_error& error) {
      note(error);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  void note(const nb::python_error& error) {
    asked_ = true;
    if (!error.matches(PyExc_KeyboardInterrupt)) failure_ = std::make_exception_ptr(error);
  }

  /// True from a callback ends the training, as an exception does.
  void tell(const EpochProgress& e) {
    const nb::object answer =
        on_epoch_(e.run, e.epoch, e.loss, e.val_loss, e.train, e.val, e.test, e.seconds, e.evaluated, e.best);
    if (answer.is(nb::bool_(true))) asked_ = true;
  }

  bool stop() {
    if (failure_ || asked_) return true;
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() == 0) return false;
    note(nb::python_error());
    return true;
  }

  nb::object on_start_;
  nb::object on_epoch_;
  std::exception_ptr failure_;
  std::vector<std::string> warnings_;
  bool asked_ = false;
};

nb::dict train(const Dataset& dataset, const nb::list& settings, nb::object on_start, nb::object on_epoch) {
  const RunConfig config = config_of(settings);
  Watched watched(std::move(on_start), std::move(on_epoch));
  const Progress progress = watched.progress();
  const TrainResult result = without_gil([&] { return train_model(dataset, config, progress); });
  return watched.result(result);
}

nb::dict resume(const std::string& folder, const Dataset* dataset, const nb::list& settings, nb::object on_start,
                nb::object on_epoch) {
  const RunConfig config = config_of(settings);
  Watched watched(std::move(on_start), std::move(on_epoch));
  const Progress progress = watched.progress();
  const TrainResult result = without_gil([&] {
    return dataset == nullptr ? resume_training(folder, config, progress)
                              : resume_training(*dataset, folder, config, progress);
  });
  return watched.result(result);
}

nb::tuple plan(const Dataset& dataset, const nb::list& settings) {
  const RunConfig config = config_of(settings);
  const PlanResult result = without_gil([&] { return plan_training(dataset, config); });
  return nb::make_tuple(result.text, result.json, result.peak_bytes, result.warnings);
}

nb::dict outputs(const std::string& folder, const Dataset* dataset, const nb::list& settings) {
  const RunConfig config = config_of(settings);
  const ModelOutputs found = without_gil([&] { return model_outputs(folder, config, dataset); });
  nb::dict out;
  out["logits"] = lend(found.logits, true);
  out["probabilities"] = lend(found.probabilities, true);
  out["classes"] = lend(found.classes, true);
  out["embedding"] = lend(found.embedding, true);
  out["class_names"] = found.class_names;
  out["warnings"] = found.warnings;
  return out;
}

nb::dict by_name(const std::vector<NamedArray>& arrays) {
  nb::dict out;
  for (const NamedArray& array : arrays) out[array.name.c_str()] = lend(array.values, true);
  return out;
}

std::vector<NamedArray> named(const nb::dict& arrays) {
  std::vector<NamedArray> out;
  for (const auto& [key, array] : arrays) {
    const std::string name = nb::cast<std::string>(key);
    out.push_back({name, adopt(array, name.c_str())});
  }
  return out;
}

nb::dict parameters(const std::string& folder) { return by_name(model_parameters(folder)); }

void add_model(nb::module_& m) {
  nb::class_<Model>(m, "Model")
      .def("__init__",
           [](Model* self, const Dataset& dataset, const nb::list& settings) {
             const RunConfig config = config_of(settings);
             without_gil([&] { return new (self) Model(dataset, config); });
           })
      .def(
          "step",
          [](Model& model, std::optional<double> lr) {
            return without_gil([&] { return lr ? model.step(*lr) : model.step(); });
          },
          nb::arg("lr").none())
      .def_prop_ro("steps", &Model::steps)
      .def_prop_ro("metric", &Model::metric)
      .def("evaluate",
           [](Model& model) {
             const ModelScores scores = without_gil([&] { return model.evaluate(); });
             return nb::make_tuple(scores.train, scores.val, scores.test, scores.val_loss);
           })
      .def("logits", [](Model& model) { return lend(without_gil([&] { return model.logits(); }), true); })
      .def("embedding", [](Model& model) { return lend(without_gil([&] { return model.embedding(); }), true); })
      .def("parameters", [](const Model& model) { return by_name(model.parameters()); })
      .def("load_parameters", [](Model& model, const nb::dict& arrays) { model.load_parameters(named(arrays)); });
}

nb::dict evaluate_run(const std::string& folder, const Dataset* dataset, const nb::list& settings) {
  const RunConfig config = config_of(settings);
  const EvalResult result = without_gil([&] { return evaluate(folder, config, dataset); });
  nb::dict out;
  out["json"] = result.json;
  out["warnings"] = result.warnings;
  return out;
}

nb::list settings_table() {
  nb::list table;
  for (const SettingInfo& info : list_settings()) {
    table.append(nb::make_tuple(info.key, info.flag, info.aliases, info.is_switch, info.expected, info.initial,
                                info.unset, info.help));
  }
  return table;
}

nb::list arguments_of(const std::string& model) {
  nb::list list;
  for (const ModelArgument& argument : model_arguments(model))
    list.append(nb::make_tuple(argument.name, argument.type, argument.initial, argument.help));
  return list;
}

nb::list facts() {
  nb::list list;
  for (const Fact& fact : machine_facts()) list.append(nb::make_tuple(fact.name, fact.value));
  return list;
}

nb::list summaries(const std::vector<NamedSummary>& all) {
  nb::list list;
  for (const NamedSummary& one : all) list.append(nb::make_tuple(one.name, one.summary));
  return list;
}

nb::list findings(const Dataset& dataset, bool allow_nan) {
  nb::list list;
  for (const DatasetFinding& finding : dataset.validate(allow_nan))
    list.append(nb::make_tuple(finding.is_error, finding.message));
  return list;
}

}  // namespace

NB_MODULE(_core, m) {
  translate_errors();
  nb::class_<Dataset>(m, "Dataset")
      .def_prop_ro("name", &Dataset::name)
      .def_prop_ro("num_nodes", &Dataset::num_nodes)
      .def_prop_ro("num_edges", &Dataset::num_edges)
      .def_prop_ro("num_features", &Dataset::num_features)
      .def_prop_ro("num_classes", &Dataset::num_classes)
      .def_prop_ro("notes", &Dataset::notes)
      .def("describe", &Dataset::describe)
      .def("to_json", &Dataset::to_json)
      .def("validate", &findings)
      .def("save",
           [](const Dataset& d, const std::string& path, bool force) {
             without_gil([&] {
               d.save(path, force);
               return 0;
             });
           })
      .def("arrays", &arrays_of);
  m.def("dataset", &dataset_of);
  m.def("load", [](const nb::list& settings) {
    const RunConfig config = config_of(settings);
    return without_gil([&] { return load_dataset(config); });
  });
  m.def("train", &train, nb::arg("dataset"), nb::arg("settings"), nb::arg("on_start").none(),
        nb::arg("on_epoch").none());
  m.def("resume", &resume, nb::arg("folder"), nb::arg("dataset").none(), nb::arg("settings"),
        nb::arg("on_start").none(), nb::arg("on_epoch").none());
  m.def("plan", &plan, nb::arg("dataset"), nb::arg("settings"));
  m.def("outputs", &outputs, nb::arg("folder"), nb::arg("dataset").none(), nb::arg("settings"));
  m.def("evaluate", &evaluate_run, nb::arg("folder"), nb::arg("dataset").none(), nb::arg("settings"));
  m.def("parameters", &parameters);
  m.def("save_parameters",
        [](const nb::dict& arrays, const std::string& path) { save_parameters(named(arrays), path); });
  add_model(m);
  m.def("settings", &settings_table);
  m.def("model_arguments", &arguments_of);
  m.def("builtin_models", &builtin_models);
  m.def("nearest", [](const std::string& name, const std::vector<std::string>& all) { return nearest(name, all); });
  m.def("formats", [] { return summaries(dataset_formats()); });
  m.def("generators", [] { return summaries(dataset_generators()); });
  m.def("facts", &facts);
  m.def("version", &version);
}

}  // namespace gneiss::python

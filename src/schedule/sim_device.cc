// Time moves from one end of a stage to the next. Between two of them every stage goes at a constant speed, so that
// what is left of each follows by a product; with shares of one all speeds are 0 or 1 and all times stay whole.
#include "schedule/sim_device.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "base/random.h"

namespace gneiss::schedule {
namespace {

constexpr double kNothing = 1e-3;  ///< of a nanosecond: what rounding leaves of a stage that is done

/// A factor around one; never less than a tenth, for times are positive.
double varied(double variation, std::uint64_t seed, Action action, std::int64_t batch) {
  const auto low = static_cast<std::uint32_t>(batch);
  const auto high = static_cast<std::uint32_t>(batch >> 32);
  const PhiloxBlock bits = philox(seed, {low, high, static_cast<std::uint32_t>(action), 0x57A6E5U});
  const double radius = std::sqrt(-2 * std::log(1 - static_cast<double>(uniform_float(bits[0]))));
  const double angle = 2 * std::numbers::pi * static_cast<double>(uniform_float(bits[1]));
  return std::max(0.1, 1 + variation * radius * std::cos(angle));
}

}  // namespace

SimDevice::SimDevice(const Profile& profile, const Plan& plan, Work* work, std::uint64_t seed)
    : profile_(profile),
      work_(work),
      seed_(seed),
      room_{plan.host_slabs, plan.gbs},
      places_(static_cast<std::size_t>(plan.batches), Place::kNowhere),
      workers_(static_cast<std::size_t>(plan.workers)) {}

Nanoseconds SimDevice::duration(Action action, std::int64_t batch) const {
  Nanoseconds mean = 0;
  switch (action) {
    case Action::kPrepareOnCpu:
      mean = profile_.times.cpu_batch * static_cast<Nanoseconds>(workers_.size());
      break;
    case Action::kCopy:
      mean = profile_.times.dma;
      break;
    case Action::kPrepareOnDevice:
      mean = profile_.times.route1();
      break;
    default:
      mean = profile_.times.train;
  }
  if (profile_.variation == 0) return mean;
  return std::llround(static_cast<double>(mean) * varied(profile_.variation, seed_, action, batch));
}

void SimDevice::move(std::int64_t batch, Place from, Place to) {
  GNEISS_ASSERT(batch >= 0 && batch < std::ssize(places_), "batch {} of {}", batch, places_.size());
  Place& place = places_[static_cast<std::size_t>(batch)];
  GNEISS_ASSERT(place == from, "a stage waits for batch {}, which nothing brings there: it is in place {}, not {}",
                batch, static_cast<int>(place), static_cast<int>(from));
  place = to;
}

void SimDevice::put(Job* job, const Command& stage, const char* resource) {
  GNEISS_ASSERT(job->idle(), "batch {} wants the {}, which batch {} has", stage.batch, resource, job->batch);
  *job = {stage.batch, static_cast<double>(duration(stage.action, stage.batch))};
}

void SimDevice::start(const Command& stage) {
  int number = 0;
  switch (stage.action) {
    case Action::kPrepareOnCpu: {
      move(stage.batch, Place::kNowhere, Place::kInWork);
      GNEISS_ASSERT(++on_host_ <= room_.host_slabs, "batch {} is one more than the {} slabs of main memory",
                    stage.batch, room_.host_slabs);
      const auto worker = std::ranges::find_if(workers_, &Job::idle);
      GNEISS_ASSERT(worker != workers_.end(), "batch {} finds all {} workers at work", stage.batch, workers_.size());
      put(&*worker, stage, "worker");
      number = static_cast<int>(worker - workers_.begin());
      break;
    }
    case Action::kCopy:
      move(stage.batch, Place::kHost, Place::kCopying);
      put(&copy_, stage, "link");
      ++on_device_;
      break;
    case Action::kPrepareOnDevice:
      move(stage.batch, Place::kNowhere, Place::kDevice);
      put(&prepare_, stage, "device");
      ++on_device_;
      break;
    case Action::kTrain: {
      const bool on_the_way = copy_.batch == stage.batch;
      GNEISS_ASSERT(prepare_.batch != stage.batch, "a step wants batch {}, which is being prepared", stage.batch);
      if (!on_the_way) move(stage.batch, Place::kDevice, Place::kStep);
      put(&train_, stage, "device");
      --on_device_;
      break;
    }
    default:
      GNEISS_ASSERT(false, "{} is no stage", action_name(stage.action));
  }
  GNEISS_ASSERT(on_device_ <= room_.device_slabs, "batch {} is one more than the {} slabs of the device", stage.batch,
                room_.device_slabs);
  work(stage, number);
}

void SimDevice::work(const Command& stage, int worker) {
  if (work_ == nullptr) return;
  switch (stage.action) {
    case Action::kPrepareOnCpu:
      work_->prepare_on_cpu(stage.batch, worker);
      break;
    case Action::kCopy:
      work_->copy(stage.batch);
      break;
    case Action::kPrepareOnDevice:
      work_->prepare_on_device(stage.batch);
      break;
    default:
      work_->train(stage.batch);
  }
}

double SimDevice::copy_speed() const { return prepare_.idle() ? 1 : 1 - profile_.uva_link_share; }

double SimDevice::train_speed() const {
  if (!train_.idle() && train_.batch == copy_.batch) return 0;  // its copy comes first
  return prepare_.idle() ? 1 : 1 - profile_.uva_device_share;
}

void SimDevice::end(Job* job, Action action, std::vector<Command>* ended) {
  if (job->idle() || job->left > kNothing) return;
  ended->push_back({action, job->batch});
  switch (action) {
    case Action::kPrepareOnCpu:
      move(job->batch, Place::kInWork, Place::kHost);
      break;
    case Action::kCopy:
      move(job->batch, Place::kCopying, train_.batch == job->batch ? Place::kStep : Place::kDevice);
      --on_host_;
      break;
    case Action::kTrain:
      move(job->batch, Place::kStep, Place::kDone);
      break;
    default:
      break;
  }
  job->batch = -1;
}

void SimDevice::wait(std::vector<Command>* ended) {
  ended->clear();
  const double copy = copy_speed();
  const double train = train_speed();
  double least = std::numeric_limits<double>::infinity();
  const auto look = [&least](const Job& job, double speed) {
    if (!job.idle() && speed > 0) least = std::min(least, job.left / speed);
  };
  for (const Job& worker : workers_) look(worker, 1);
  look(copy_, copy);
  look(prepare_, 1);
  look(train_, train);
  GNEISS_ASSERT(std::isfinite(least), "a wait for something to end, and nothing has begun");
  const double step = std::ceil(least - kNothing);
  now_ += static_cast<Nanoseconds>(step);
  const auto pass = [step](Job* job, double speed) {
    if (!job->idle()) job->left -= step * speed;
  };
  for (Job& worker : workers_) pass(&worker, 1);
  pass(&copy_, copy);
  pass(&prepare_, 1);
  pass(&train_, train);
  for (Job& worker : workers_) end(&worker, Action::kPrepareOnCpu, ended);
  // A step that waited for this copy has not begun.
  const bool step_waited = train == 0 && !train_.idle() && train_.batch == copy_.batch;
  if (!step_waited) end(&train_, Action::kTrain, ended);
  end(&copy_, Action::kCopy, ended);
  end(&prepare_, Action::kPrepareOnDevice, ended);
}

}  // namespace gneiss::schedule

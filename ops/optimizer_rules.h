// The rule of each optimizer: how a step changes one element. All implementations of
// Table::optimize apply these rules. The rules compute in the type of the parameters and in
// PyTorch's order of operations.
//
// Without #pragma once: each implementation includes this file in its own namespace, so that files
// compiled for one instruction set share no inline functions with others. Include <math.h>,
// base/both.h and ops/ops.h before this file.
//
// A rule is constructed for one segment of one step. `p` is the parameter, `g` its clipped gradient
// and `s` its state (optimizers.def). There are two kinds of rules:
//
//   kTrustRatio = false   rule(p, g, s) changes p and s.
//   kTrustRatio = true    The first pass calls rule.track(g, s), which changes s, and sums the
//                         squares of p and of rule.change(p, s) over the segment. trust_ratio()
//                         and trusted_rate() compute the learning rate from the sums. The second
//                         pass subtracts learning rate * rule.change(p, s) from p. Such a rule
//                         always has kMaxOptimizerStates buffers.

SHOAL_BOTH inline float root(float x) {
  return sqrtf(x);
}
SHOAL_BOTH inline double root(double x) {
  return sqrt(x);
}

// As torch.optim.SGD.
template <class T>
struct Sgd {
  static constexpr bool kTrustRatio = false;
  T lr, decay, momentum;
  bool nesterov;

  SHOAL_BOTH Sgd(const OptimizerStep& step, const Segment& segment)
      : lr(static_cast<T>(step.lr * segment.lr_scale)),
        decay(static_cast<T>(segment.weight_decay)),
        momentum(static_cast<T>(step.momentum)),
        nesterov(step.nesterov) {}

  SHOAL_BOTH void operator()(T& p, T g, T* s) const {
    g += decay * p;
    if (momentum != 0) {
      s[0] = momentum * s[0] + g;
      g = nesterov ? g + momentum * s[0] : s[0];
    }
    p -= lr * g;
  }
};

// As TensorFlow's RMSprop (timm's RMSpropTF): eps is inside the square root, and the momentum
// accumulates changes that are already multiplied by lr.
template <class T>
struct RmspropTf {
  static constexpr bool kTrustRatio = false;
  T lr, decay, momentum, forget, eps;

  SHOAL_BOTH RmspropTf(const OptimizerStep& step, const Segment& segment)
      : lr(static_cast<T>(step.lr * segment.lr_scale)),
        decay(static_cast<T>(segment.weight_decay)),
        momentum(static_cast<T>(step.momentum)),
        forget(static_cast<T>(1 - step.alpha)),
        eps(static_cast<T>(step.eps)) {}

  SHOAL_BOTH void operator()(T& p, T g, T* s) const {
    g += decay * p;
    s[0] += forget * (g * g - s[0]);
    T change = lr * (g / root(s[0] + eps));
    if (momentum != 0) {
      s[1] = momentum * s[1] + change;
      change = s[1];
    }
    p -= change;
  }
};

// As torch.optim.RMSprop, not centered: eps is outside the square root, and lr multiplies the
// accumulated changes.
template <class T>
struct RmspropTorch {
  static constexpr bool kTrustRatio = false;
  T lr, decay, momentum, keep, forget, eps;

  SHOAL_BOTH RmspropTorch(const OptimizerStep& step, const Segment& segment)
      : lr(static_cast<T>(step.lr * segment.lr_scale)),
        decay(static_cast<T>(segment.weight_decay)),
        momentum(static_cast<T>(step.momentum)),
        keep(static_cast<T>(step.alpha)),
        forget(static_cast<T>(1 - step.alpha)),
        eps(static_cast<T>(step.eps)) {}

  SHOAL_BOTH void operator()(T& p, T g, T* s) const {
    g += decay * p;
    s[0] = keep * s[0] + forget * (g * g);
    T change = g / (root(s[0]) + eps);
    if (momentum != 0) {
      s[1] = momentum * s[1] + change;
      change = s[1];
    }
    p -= lr * change;
  }
};

// The moving averages of Adam and its relatives: s[0] of the gradient, s[1] of its square.
template <class T>
struct Moments {
  double correction1;  // bias correction of s[0]: 1 - beta1^n after n steps
  T forget1, keep2, forget2, root2, eps;

  SHOAL_BOTH Moments(const OptimizerStep& step, const Segment& segment)
      : forget1(static_cast<T>(1 - step.beta1)),
        keep2(static_cast<T>(step.beta2)),
        forget2(static_cast<T>(1 - step.beta2)),
        eps(static_cast<T>(step.eps)) {
    const auto steps = static_cast<double>(step.step - segment.first_step);
    correction1 = 1 - pow(step.beta1, steps);
    root2 = static_cast<T>(sqrt(1 - pow(step.beta2, steps)));
  }

  SHOAL_BOTH void track(T g, T* s) const {
    s[0] += forget1 * (g - s[0]);
    s[1] = keep2 * s[1] + forget2 * (g * g);
  }

  // Returns the step's direction. correction1 is not applied yet.
  SHOAL_BOTH T direction(const T* s) const { return s[0] / (root(s[1]) / root2 + eps); }
};

// As torch.optim.AdamW.
template <class T>
struct AdamW : Moments<T> {
  static constexpr bool kTrustRatio = false;
  T shrink, size;

  SHOAL_BOTH AdamW(const OptimizerStep& step, const Segment& segment) : Moments<T>(step, segment) {
    const double lr = step.lr * segment.lr_scale;
    shrink = static_cast<T>(1 - lr * segment.weight_decay);
    size = static_cast<T>(lr / this->correction1);
  }

  SHOAL_BOTH void operator()(T& p, T g, T* s) const {
    this->track(g, s);
    p = p * shrink - size * this->direction(s);
  }
};

// As torch.optim.Adam.
template <class T>
struct Adam : Moments<T> {
  static constexpr bool kTrustRatio = false;
  T decay, size;

  SHOAL_BOTH Adam(const OptimizerStep& step, const Segment& segment)
      : Moments<T>(step, segment),
        decay(static_cast<T>(segment.weight_decay)),
        size(static_cast<T>(step.lr * segment.lr_scale / this->correction1)) {}

  SHOAL_BOTH void operator()(T& p, T g, T* s) const {
    this->track(g + decay * p, s);
    p -= size * this->direction(s);
  }
};

// As timm.optim.Lamb and NVIDIA's FusedLAMB, without their own clipping of the gradients.
template <class T>
struct Lamb : Moments<T> {
  static constexpr bool kTrustRatio = true;
  T decay, mean_scale;

  SHOAL_BOTH Lamb(const OptimizerStep& step, const Segment& segment)
      : Moments<T>(step, segment),
        decay(static_cast<T>(segment.weight_decay)),
        mean_scale(static_cast<T>(1 / this->correction1)) {}

  SHOAL_BOTH T change(T p, const T* s) const { return mean_scale * this->direction(s) + decay * p; }
};

// Returns the trust ratio of a segment: the norm of its parameters divided by the norm of their
// changes. Returns 1 if a norm is 0 or the segment has no weight decay. `parameters`, `changes`:
// the squared norms.
SHOAL_BOTH inline double trust_ratio(const Segment& segment, double parameters, double changes) {
  if (segment.weight_decay == 0 || parameters <= 0 || changes <= 0) return 1;
  return sqrt(parameters) / sqrt(changes);
}

// Returns the learning rate of a segment whose rule has a trust ratio. `ratio`: its trust_ratio().
template <class T>
SHOAL_BOTH T trusted_rate(const OptimizerStep& step, const Segment& segment, double ratio) {
  return static_cast<T>(step.lr * segment.lr_scale * ratio);
}

// Returns the factor by which clipping multiplies the gradients.
SHOAL_BOTH inline double clip_factor(const OptimizerStep& step) {
  if (step.gradient_norm == nullptr) return 1;
  return fmin(1.0, step.clip / (*step.gradient_norm + 1e-6));
}

// Copy the state of element i from the buffers to `s`, or back. A buffer that does not exist reads
// as 0.
template <class T>
SHOAL_BOTH void load_state(const OptimizerStep& step, int64_t i, T* s) {
  for (int k = 0; k < kMaxOptimizerStates; ++k)
    s[k] = step.state[k] != nullptr ? static_cast<const T*>(step.state[k])[i] : T(0);
}
template <class T>
SHOAL_BOTH void store_state(const OptimizerStep& step, int64_t i, const T* s) {
  for (int k = 0; k < kMaxOptimizerStates; ++k)
    if (step.state[k] != nullptr) static_cast<T*>(step.state[k])[i] = s[k];
}

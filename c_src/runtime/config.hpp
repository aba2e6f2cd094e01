// User settings, from the application environment; environment variables take precedence.
#pragma once

#include <cstdint>
#include <string>

namespace dala {

struct Config {
  std::string device = "auto";        // DALA_GPU_DEVICE: auto, gpu, cpu, or part of a name
  std::string device_class = "auto";  // DALA_GPU_DEVICE_CLASS: auto, cpu, gpu: the kernel family
  std::string matmul = "auto";        // DALA_GPU_MATMUL: auto, builtin, clblast
  std::string cache_dir;              // DALA_GPU_CACHE_DIR: compiled kernels; "" is the user cache
  bool zero_copy = true;              // DALA_GPU_ZERO_COPY: 0 copies even where memory is shared
  bool pin_threads = true;            // DALA_GPU_PIN_THREADS: 0 does not pin a CPU driver's threads
  bool executor = true;               // DALA_GPU_EXECUTOR: 0 runs kernels on a CPU driver's threads
  bool fusion = true;                 // DALA_GPU_FUSION: 0 launches every pipeline stage by itself
  uint64_t memory_limit = 0;          // DALA_GPU_MEMORY_LIMIT in bytes; 0: the device's memory
  uint64_t cache_limit = uint64_t{1} << 30;  // DALA_GPU_CACHE_LIMIT in bytes; 0 is no limit
  uint64_t kernel_timeout = 0;               // DALA_GPU_KERNEL_TIMEOUT in ms; 0 is no limit
  uint64_t build_timeout = 60'000;           // DALA_GPU_BUILD_TIMEOUT in ms; 0 is no limit
};

// Applies the environment variables; throws `invalid_param` for a value that cannot be parsed.
Config with_environment(Config config);

}  // namespace dala

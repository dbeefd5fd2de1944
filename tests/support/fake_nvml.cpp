// A library with the functions of NVML that shoal uses. Reports two GPUs. After both were read
// once, all further readings fail.

extern "C" {

struct Rates {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};

int readings = 0;

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static int devices[2];
  *device = &devices[index];
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, Rates* rates) {
  if (readings == 2) return 999;
  *rates = {readings == 0 ? 25u : 75u, 0};
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  *memory = {100, 0, readings == 0 ? 40ull : 80ull};
  ++readings;
  return 0;
}
}

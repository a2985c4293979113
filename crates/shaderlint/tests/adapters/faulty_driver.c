// A Vulkan driver that fails on purpose: the one that $DRIVER names, but for the one function that $FAULT is about.
// It takes part in the loader's interface for drivers (version 5), and needs no header of Vulkan's.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*Function)(void);
typedef Function (*Lookup)(void *, const char *);

static Lookup of_driver, of_its_devices;
static void (*properties)(void *, char *), (*properties_2)(void *, char *);
typedef int32_t (*Create)(void *, uint64_t, uint32_t, const char *, void *, void *);
static Create create;
static int32_t (*allocate)(void *, const char *, void *, void *);

// VkPhysicalDeviceProperties is five words, then the name; in VkPhysicalDeviceProperties2 it comes after two pointers.
static void name_it(void *device, char *out) {
  properties(device, out);
  strcpy(out + 20, "a faulty driver");
}

static void name_it_2(void *device, char *out) {
  properties_2(device, out);
  strcpy(out + 36, "a faulty driver");
}

// VkMemoryAllocateInfo::allocationSize comes after two pointers. There are 96 MiB.
static int32_t allocate_little(void *device, const char *info, void *allocator, void *memory) {
  uint64_t size;
  memcpy(&size, info + 16, sizeof size);
  return size > 96 << 20 ? -2 : allocate(device, info, allocator, memory);
}

// The name of the entry point in a VkComputePipelineCreateInfo: wgpu has pipelines of its own, for which opening a device
// would already fail.
static int is_kernel(const char *infos) {
  const char *name;
  memcpy(&name, infos + 56, sizeof name);
  return !strcmp(name, "Main");
}

static int32_t refuse(void *device, uint64_t cache, uint32_t count, const char *infos, void *allocator, void *made) {
  return is_kernel(infos) ? -13 : create(device, cache, count, infos, allocator, made);
}

static int32_t get_stuck(void *device, uint64_t cache, uint32_t count, const char *infos, void *allocator, void *made) {
  while (is_kernel(infos)) pause();
  return create(device, cache, count, infos, allocator, made);
}

static int32_t lose(void) { return -4; }
static int32_t not_start(void) { return -3; }
// A success, of which nothing ever comes.
static int32_t drop(void) { return 0; }

static Function replaced(const char *name, Function found) {
  static const struct {
    const char *fault, *name;
    int32_t (*function)(void);
  } faults[] = {
      {"lost", "vkQueueSubmit", lose},
      {"closed", "vkCreateDevice", not_start},
      {"endless", "vkQueueSubmit", drop},
  };
  const char *fault = getenv("FAULT");
  for (unsigned at = 0; fault && at < sizeof faults / sizeof *faults; at++)
    if (!strcmp(fault, faults[at].fault) && !strcmp(name, faults[at].name)) return (Function)faults[at].function;
  if (fault && !strcmp(fault, "memory") && !strcmp(name, "vkAllocateMemory")) {
    allocate = (int32_t(*)(void *, const char *, void *, void *))found;
    return (Function)allocate_little;
  }
  if (fault && !strcmp(name, "vkCreateComputePipelines")) {
    create = (Create)found;
    if (!strcmp(fault, "refused")) return (Function)refuse;
    if (!strcmp(fault, "stuck")) return (Function)get_stuck;
  }
  return found;
}

static Function of_device(void *device, const char *name) { return replaced(name, of_its_devices(device, name)); }

Function vk_icdGetInstanceProcAddr(void *instance, const char *name) {
  if (!of_driver) {
    void *driver = dlopen(getenv("DRIVER"), RTLD_NOW);
    of_driver = driver ? (Lookup)dlsym(driver, "vk_icdGetInstanceProcAddr") : 0;
  }
  Function found = of_driver ? of_driver(instance, name) : 0;
  if (!found) return 0;
  if (!strcmp(name, "vkGetDeviceProcAddr")) {
    of_its_devices = (Lookup)found;
    return (Function)of_device;
  }
  if (!strcmp(name, "vkGetPhysicalDeviceProperties")) {
    properties = (void (*)(void *, char *))found;
    return (Function)name_it;
  }
  if (!strcmp(name, "vkGetPhysicalDeviceProperties2")) {
    properties_2 = (void (*)(void *, char *))found;
    return (Function)name_it_2;
  }
  return replaced(name, found);
}

int32_t vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
  if (*version > 5) *version = 5;
  return 0;
}

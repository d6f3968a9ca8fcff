// Asks the Vulkan drivers that the environment names who they are: one line for each device. A driver that cannot be loaded,
// or crashes, shows here and not first in a campaign. Declares the little of Vulkan that it uses, so it builds without headers.

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { APPLICATION_INFO = 0, INSTANCE_CREATE_INFO = 1, PROPERTIES_2 = 1000059001, SUBGROUP = 1000094000, DRIVER = 1000196000 };
#define VULKAN_1_3 (1u << 22 | 3u << 12)

struct application_info {
    uint32_t type;
    const void *next;
    const char *name;
    uint32_t version;
    const char *engine;
    uint32_t engine_version, api_version;
};

struct instance_create_info {
    uint32_t type;
    const void *next;
    uint32_t flags;
    const struct application_info *application;
    uint32_t layer_count;
    const char *const *layers;
    uint32_t extension_count;
    const char *const *extensions;
};

struct driver_properties {
    uint32_t type;
    void *next;
    uint32_t id;
    char name[256], info[256];
    uint8_t conformance[4];
};

struct subgroup_properties {
    uint32_t type;
    void *next;
    uint32_t size, stages, operations, quads_everywhere;
};

struct properties_2 {
    uint32_t type;
    void *next;
    uint32_t api_version, driver_version, vendor, device, kind;
    char name[256];
    uint8_t cache_uuid[16];
    _Alignas(8) uint8_t limits_and_sparse[528];
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct properties_2) == 16 + 824, "VkPhysicalDeviceProperties2");

typedef void (*function)(void);
typedef function (*get_instance_proc_addr)(void *, const char *);

int main(void) {
    void *loader = dlopen("libvulkan.so.1", RTLD_NOW);
    if (!loader) return fprintf(stderr, "no Vulkan loader: %s\n", dlerror()), 1;
    get_instance_proc_addr get = (get_instance_proc_addr)dlsym(loader, "vkGetInstanceProcAddr");
    if (!get) return fprintf(stderr, "the Vulkan loader is broken: %s\n", dlerror()), 1;

    struct application_info application = {.type = APPLICATION_INFO, .api_version = VULKAN_1_3};
    struct instance_create_info info = {.type = INSTANCE_CREATE_INFO, .application = &application};
    int32_t (*create)(const void *, const void *, void **) = (void *)get(NULL, "vkCreateInstance");
    void *instance;
    int32_t result = create(&info, NULL, &instance);
    if (result) return fprintf(stderr, "the driver cannot be loaded (vkCreateInstance: %d)\n", result), 1;

    int32_t (*enumerate)(void *, uint32_t *, void **) = (void *)get(instance, "vkEnumeratePhysicalDevices");
    void (*properties)(void *, void *) = (void *)get(instance, "vkGetPhysicalDeviceProperties2");
    void *devices[64];
    uint32_t count = 64;
    result = enumerate(instance, &count, devices);
    if (result < 0 || count == 0) return fprintf(stderr, "the driver offers no device (%d)\n", result), 1;
    for (uint32_t i = 0; i < count; i++) {
        struct subgroup_properties subgroup = {.type = SUBGROUP};
        struct driver_properties driver = {.type = DRIVER, .next = &subgroup};
        struct properties_2 device = {.type = PROPERTIES_2, .next = &driver};
        properties(devices[i], &device);
        printf("%s | %s %s | Vulkan %u.%u.%u | subgroups of %u\n", device.name, driver.name, driver.info,
               device.api_version >> 22, device.api_version >> 12 & 0x3ff, device.api_version & 0xfff, subgroup.size);
    }
    return 0;
}

// A Vulkan layer that hands over what it is given to compile: modules and compute pipelines never come to the driver, and `tangle_module`
// gives the last module. What a driver would make of a module takes ten times as long as what an API's compiler takes to make the module.
//
// The driver is one that a compiler's API takes, and decides on what that makes: so the layer says that there are 16-bit floats, too, of which a
// driver that runs on the processor need not have any. Declares the little of Vulkan that it uses, so it builds without headers. One instance and
// one device at a time, used by one thread.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

enum { SUCCESS = 0, INCOMPLETE = 5, ERROR_OUT_OF_HOST_MEMORY = -1, ERROR_INITIALIZATION_FAILED = -3 };

// VkStructureType.
enum {
    LOADER_INSTANCE_CREATE_INFO = 47,
    LOADER_DEVICE_CREATE_INFO = 48,
    FEATURES_2 = 1000059000,
    FEATURES_16BIT_STORAGE = 1000083000,
    FEATURES_SHADER_FLOAT16_INT8 = 1000082000,
    FEATURES_SHADER_SUBGROUP_EXTENDED_TYPES = 1000175000,
};

typedef void (*function)(void);
typedef function (*get_proc_addr)(void *, const char *);

// What any structure begins with.
struct chained {
    uint32_t type;
    void *next;
};

// VkLayerInstanceCreateInfo and VkLayerDeviceCreateInfo of the loader, where `what` is VK_LAYER_LINK_INFO, and what they point to.
struct link_info {
    uint32_t type;
    const void *next;
    uint32_t what;
    struct link {
        struct link *next;
        get_proc_addr instance_proc_addr, device_proc_addr;
    } *link;
};

// VkNegotiateLayerInterface.
struct negotiation {
    uint32_t type;
    void *next;
    uint32_t version;
    get_proc_addr instance_proc_addr, device_proc_addr, physical_device_proc_addr;
};

// VkDeviceCreateInfo.
struct device_info {
    uint32_t type;
    const void *next;
    uint32_t flags, queue_count;
    const void *queues;
    uint32_t layer_count;
    const char *const *layers;
    uint32_t extension_count;
    const char *const *extensions;
    const void *features;
};

// VkExtensionProperties.
struct extension {
    char name[256];
    uint32_t version;
};

// VkShaderModuleCreateInfo.
struct module_info {
    uint32_t type;
    const void *next;
    uint32_t flags;
    size_t bytes;
    const uint32_t *words;
};

static void *last_instance;
static get_proc_addr next_instance_proc_addr, next_device_proc_addr;
static void (*next_features)(void *, struct chained *);
static int32_t (*next_extensions)(void *, const char *, uint32_t *, struct extension *);

// The extension of 16-bit floats, which Dawn looks for whatever the version of the driver.
static const struct extension float16 = {"VK_KHR_shader_float16_int8", 1};

// The next handle of what the driver does not know of.
static uint64_t handle = 1;
static uint32_t *module;
static size_t module_words;

// The last module and how many words it has; forgets it. It stays until the next is created.
PUBLIC const uint32_t *tangle_module(size_t *words) {
    *words = module_words;
    module_words = 0;
    return module;
}

static struct link_info *link_in(const void *chain, uint32_t type) {
    const struct link_info *info = chain;
    while (info != NULL && (info->type != type || info->what != 0)) info = info->next;
    return (struct link_info *)info;
}

// Sets the features that Dawn wants for 16-bit floats, VkBool32s of the structures in a chain.
static void set_float16(void *chain, uint32_t to) {
    for (struct chained *each = chain; each != NULL; each = each->next) {
        uint32_t *features = (uint32_t *)(each + 1);
        switch (each->type) {
        case FEATURES_2: features[41] = to; break;                              // shaderInt16
        case FEATURES_SHADER_FLOAT16_INT8: features[0] = to; break;             // shaderFloat16
        case FEATURES_16BIT_STORAGE: features[0] = features[1] = to; break;     // storageBuffer16BitAccess, uniformAndStorageBuffer16BitAccess
        case FEATURES_SHADER_SUBGROUP_EXTENDED_TYPES: features[0] = to; break;  // shaderSubgroupExtendedTypes
        }
    }
}

static int32_t create_instance(const void *info, const void *allocator, void **instance) {
    struct link_info *link = link_in(info, LOADER_INSTANCE_CREATE_INFO);
    if (link == NULL || link->link == NULL) return ERROR_INITIALIZATION_FAILED;
    next_instance_proc_addr = link->link->instance_proc_addr;
    link->link = link->link->next;
    int32_t (*create)(const void *, const void *, void **) = (void *)next_instance_proc_addr(NULL, "vkCreateInstance");
    if (create == NULL) return ERROR_INITIALIZATION_FAILED;
    int32_t result = create(info, allocator, instance);
    if (result == SUCCESS) {
        last_instance = *instance;
        next_features = (void *)next_instance_proc_addr(*instance, "vkGetPhysicalDeviceFeatures2");
        next_extensions = (void *)next_instance_proc_addr(*instance, "vkEnumerateDeviceExtensionProperties");
    }
    return result;
}

static int32_t extensions(void *physical, const char *layer, uint32_t *count, struct extension *list) {
    if (layer != NULL) return next_extensions(physical, layer, count, list);
    if (list == NULL) {
        int32_t result = next_extensions(physical, layer, count, list);
        ++*count;
        return result;
    }
    if (*count == 0) return INCOMPLETE;
    list[0] = float16;
    --*count;
    int32_t result = next_extensions(physical, layer, count, list + 1);
    ++*count;
    return result;
}

static int32_t create_device(void *physical, const struct device_info *asked, const void *allocator, void **device) {
    struct link_info *link = link_in(asked, LOADER_DEVICE_CREATE_INFO);
    if (link == NULL || link->link == NULL) return ERROR_INITIALIZATION_FAILED;
    next_device_proc_addr = link->link->device_proc_addr;
    int32_t (*create)(void *, const void *, const void *, void **) = (void *)link->link->instance_proc_addr(last_instance, "vkCreateDevice");
    if (create == NULL) return ERROR_INITIALIZATION_FAILED;
    link->link = link->link->next;
    struct device_info without = *asked;
    const char **names = malloc((asked->extension_count + 1) * sizeof *names);
    if (names == NULL) return ERROR_OUT_OF_HOST_MEMORY;
    without.extensions = names, without.extension_count = 0;
    for (uint32_t i = 0; i < asked->extension_count; i++)
        if (strcmp(asked->extensions[i], float16.name) != 0) names[without.extension_count++] = asked->extensions[i];
    set_float16((void *)without.next, 0);
    int32_t result = create(physical, &without, allocator, device);
    free(names);
    return result;
}

static void features(void *physical, struct chained *features) {
    next_features(physical, features);
    set_float16(features, 1);
}

static int32_t create_shader_module(void *device, const struct module_info *info, const void *allocator, uint64_t *created) {
    (void)device, (void)allocator;
    uint32_t *words = realloc(module, info->bytes);
    if (words == NULL) return ERROR_OUT_OF_HOST_MEMORY;
    module = memcpy(words, info->words, info->bytes);
    module_words = info->bytes / sizeof *words;
    *created = handle++;
    return SUCCESS;
}

static int32_t create_compute_pipelines(void *device, uint64_t cache, uint32_t count, const void *infos, const void *allocator, uint64_t *created) {
    (void)device, (void)cache, (void)infos, (void)allocator;
    for (uint32_t i = 0; i < count; i++) created[i] = handle++;
    return SUCCESS;
}

// Names and tags: handles that are made here are not for the driver.
static int32_t name_object(void *device, const void *info) {
    (void)device, (void)info;
    return SUCCESS;
}

static void destroy(void *device, uint64_t made_here, const void *allocator) { (void)device, (void)made_here, (void)allocator; }

PUBLIC function tangle_instance_proc_addr(void *instance, const char *name);
PUBLIC function tangle_device_proc_addr(void *device, const char *name);

static function mine(const char *name) {
    static const struct {
        const char *name;
        function instead;
    } table[] = {
        {"vkGetInstanceProcAddr", (function)tangle_instance_proc_addr},
        {"vkCreateInstance", (function)create_instance},
        {"vkCreateDevice", (function)create_device},
        {"vkGetPhysicalDeviceFeatures2", (function)features},
        {"vkGetPhysicalDeviceFeatures2KHR", (function)features},
        {"vkEnumerateDeviceExtensionProperties", (function)extensions},
        {"vkGetDeviceProcAddr", (function)tangle_device_proc_addr},
        {"vkCreateShaderModule", (function)create_shader_module},
        {"vkDestroyShaderModule", (function)destroy},
        {"vkCreateComputePipelines", (function)create_compute_pipelines},
        {"vkDestroyPipeline", (function)destroy},
        {"vkSetDebugUtilsObjectNameEXT", (function)name_object},
        {"vkSetDebugUtilsObjectTagEXT", (function)name_object},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(name, table[i].name) == 0) return table[i].instead;
    return NULL;
}

PUBLIC function tangle_instance_proc_addr(void *instance, const char *name) {
    function found = mine(name);
    if (found != NULL || next_instance_proc_addr == NULL) return found;
    return next_instance_proc_addr(instance, name);
}

PUBLIC function tangle_device_proc_addr(void *device, const char *name) {
    function found = mine(name);
    if (found != NULL || next_device_proc_addr == NULL) return found;
    return next_device_proc_addr(device, name);
}

PUBLIC int32_t vkNegotiateLoaderLayerInterfaceVersion(struct negotiation *loader) {
    if (loader->version < 2) return ERROR_INITIALIZATION_FAILED;
    loader->version = 2;
    loader->instance_proc_addr = tangle_instance_proc_addr;
    loader->device_proc_addr = tangle_device_proc_addr;
    loader->physical_device_proc_addr = NULL;
    return SUCCESS;
}

// Asks the Vulkan drivers that the environment names who they are: one line for each device. With the argument `opengl`, the OpenGL driver.
// A driver that cannot be loaded, or crashes, shows here and not first in a campaign. Declares the little of Vulkan, EGL and OpenGL that it
// uses, so it builds without headers.

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

enum { SURFACELESS = 0x31DD, OPENGL_API = 0x30A2, NONE = 0x3038, MAJOR = 0x3098, MINOR = 0x30FB, RENDERER = 0x1F01, VERSION = 0x1F02 };

// A context without a window: EGL_MESA_platform_surfaceless.
static int opengl(void) {
    void *egl = dlopen("libEGL.so.1", RTLD_NOW);
    if (!egl) return fprintf(stderr, "no libEGL: %s\n", dlerror()), 1;
    function (*get)(const char *) = (function(*)(const char *))dlsym(egl, "eglGetProcAddress");
    if (!get) return fprintf(stderr, "libEGL is broken: %s\n", dlerror()), 1;
    void *(*display_of)(unsigned, void *, const int *) = (void *)get("eglGetPlatformDisplayEXT");
    unsigned (*initialize)(void *, int *, int *) = (void *)get("eglInitialize");
    unsigned (*bind)(unsigned) = (void *)get("eglBindAPI");
    void *(*create)(void *, void *, void *, const int *) = (void *)get("eglCreateContext");
    unsigned (*make_current)(void *, void *, void *, void *) = (void *)get("eglMakeCurrent");
    const char *(*string)(unsigned) = (void *)get("glGetString");
    void *display = display_of ? display_of(SURFACELESS, NULL, NULL) : NULL;
    if (!display || !initialize(display, NULL, NULL)) return fprintf(stderr, "EGL has no display without a window\n"), 1;
    const int attributes[] = {MAJOR, 4, MINOR, 5, NONE};
    void *context = bind(OPENGL_API) ? create(display, NULL, NULL, attributes) : NULL;
    if (!context || !make_current(display, NULL, NULL, context)) return fprintf(stderr, "the driver has no OpenGL 4.5\n"), 1;
    return printf("%s | OpenGL %s\n", string(RENDERER), string(VERSION)) < 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "opengl")) return opengl();
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

/*
@HEAD@
 *
 * Build:  cc repro.c -lvulkan -o repro       (needs vulkan.h of Vulkan 1.2 or newer, and the loader)
 * Run:    ./repro [PART OF A DEVICE'S NAME [NUMBER OF RUNS]]
 *
 * Exit status:
 *    0  the device does what it has to
 *    1  it does not: a wrong result, or a failure while it compiles or runs the shader
 *   77  no device here can run this, or it numbers its lanes in another way than the one that the expected values are for
 *    2  anything else
 */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <unistd.h>
#endif

#include <vulkan/vulkan.h>

enum { PASSED = 0, FAILED = 1, OTHER = 2, CANNOT_RUN = 77 };

/* ---- what is run ---- */

@CONSTANTS@

#if WORKGROUPS
/* What every invocation writes about itself before any control flow; see the shader. */
enum { LANE, SUBGROUP_SIZE, SUBGROUP_ID, NUM_SUBGROUPS, TOKEN, BALLOT, WRITTEN = BALLOT + 2, MAP_WORDS };
#endif
#if FRAGMENTS
/* What every fragment writes about itself, and about the three others of its quad, before any control flow; see the shader. */
enum { LANE, SUBGROUP_SIZE, TOKEN, BALLOT, QUAD = BALLOT + 4, WRITTEN = QUAD + 3, MAP_WORDS };
#endif
#if ITEMS
/* What every invocation writes about itself before any control flow; see the shader. */
enum { LANE, SUBGROUP_SIZE, TOKEN, BALLOT, WRITTEN = BALLOT + 2, MAP_WORDS };
#endif
#if FRAGMENTS
#define TOKEN_RULE "subgroupShuffle at entry gives the value of the subgroup's lowest lane that is no helper"
#else
#define TOKEN_RULE "subgroupBroadcastFirst at entry gives the value of the subgroup's lowest lane"
#endif

#if WORKGROUPS
#define INVOCATIONS (WORKGROUP_X * WORKGROUP_Y * WORKGROUP_Z) /* in a workgroup */
#define ALL (INVOCATIONS * GROUPS_X * GROUPS_Y * GROUPS_Z)
#define BEHIND_RECORDS (ALL * PAYLOAD_COPIES)
#endif
#if FRAGMENTS
/*
 * Invocations are numbered by columns and rows of whole quads, and then by slices: the samples of a triangle follow each other, all triangles of a
 * layer come before the next layer.
 */
#define ALL (COLUMNS * ROWS * TRIANGLES * LAYERS * SAMPLES)
#define INVOCATIONS ALL
#define BEHIND_RECORDS 0
#endif
#if ITEMS
/*
 * The shader may be executed several times for one vertex or primitive. EXECUTIONS of each have a place of their own, the first executions of
 * all before the second. Behind the records of the lane map stands how many there were.
 */
#define IDENTITIES (ITEM_SIZE * ITEM_COUNT)
#define ALL (IDENTITIES * EXECUTIONS)
#define INVOCATIONS ALL
#define BEHIND_RECORDS IDENTITIES
#endif

/* Words of the lane map, and of the buffer in which the shader stores it with RECORD_WORDS words for each record. */
#define MAP_LENGTH (ALL * MAP_WORDS + BEHIND_RECORDS)
#define BUFFER_LENGTH (ALL * RECORD_WORDS + BEHIND_RECORDS)

/* The buffers, by their bindings. */
enum {
    INPUTS,
    UNIFORMS,
    MAP,
    LOG,
    ARRAYS,
#if FRAGMENTS
    CORNERS,
#endif
    BINDINGS
};

/*
 * Features that the module needs: the structure that has the feature, which member of it, and the extension, or the version of
 * Vulkan that has it without an extension. By number, so that old headers do. Of rows with the same name one is enough.
 */
struct feature {
    const char *name;
    uint32_t structure;
    uint32_t member;
    const char *extension;
    uint32_t core_since;
};
@FEATURES@

/* The data stands at the end of this file. */
static const uint32_t spirv[SPIRV_WORDS];
#if GRAPHICS

/* The other shaders of the pipeline: VkShaderStageFlagBits, and the part of beside_spirv. */
struct module {
    uint32_t stage;
    uint32_t first;
    uint32_t words;
};
static const struct module beside[BESIDE + 1];
static const uint32_t beside_spirv[BESIDE_WORDS + 1];
#endif
#if FRAGMENTS
/* Corners of the triangles in clip coordinates, as the bits of floats, and their flat inputs; and a bit for each place of a fragment. */
static const uint32_t corners[CORNER_WORDS];
static const uint32_t covered[ALL / 32 + 1];
#endif
#if PAYLOAD
/* What each invocation has in the task payload. Behind the records of the lane map stands what was found there. */
static const uint32_t payload[ALL];
#endif
static const uint32_t inputs[INPUT_WORDS + 1];
static const uint32_t uniforms[UNIFORM_WORDS + 1];
static const uint32_t push_constants[PUSH_WORDS + 1];
static const uint32_t constant_ids[CONSTANTS + 1];
static const uint32_t constant_values[CONSTANTS + 1];
#if DESCRIPTOR_ARRAYS
/* Arrays of descriptors: where each is bound, its VkDescriptorType, and the word that each resource of an array holds. */
static const uint32_t array_bindings[DESCRIPTOR_ARRAYS + 1];
static const uint32_t array_types[DESCRIPTOR_ARRAYS + 1];
static const uint32_t resources[RESOURCES + 1];
#endif

/* The buffer of the lane map that the expected values are for: RECORD_WORDS words for each invocation. */
static const uint32_t expected_map[HAS_EXPECTED_VALUES ? BUFFER_LENGTH : 1];

/*
 * What each invocation has to log: expected_log[log_start[i]] to expected_log[log_start[i + 1] - 1] for invocation i. An entry is
 * the number of a site in the shader and then the values. Bits of left_open mark words that the specification leaves open;
 * ends_open marks invocations whose log may go on in an unknown way.
 */
static const uint32_t log_start[HAS_EXPECTED_VALUES ? ALL + 1 : 1];
static const uint32_t expected_log[EXPECTED_WORDS + 1];
static const uint32_t left_open[EXPECTED_WORDS / 32 + 1];
static const uint32_t entry_start[HAS_EXPECTED_VALUES ? ALL + 1 : 1];
static const uint32_t step_of_entry[EXPECTED_ENTRIES + 1]; /* the number of the step in the order of execution */
static const unsigned char ends_open[HAS_EXPECTED_VALUES ? ALL : 1];

struct site {
    uint32_t id;
    uint32_t words; /* after the site */
    uint32_t line;
    const char *source;
};
static const struct site sites[SITES + 1];

/*
 * Where it is the device's choice which invocations execute an operation together, several values are legal, and left_open has the words. No
 * choice gives the words of one relation together: relation 0 has the first relation_words, relation 1 the next, and so on.
 */
struct word {
    uint32_t invocation;
    uint32_t at; /* in its log */
    uint32_t value;
};
struct relation {
    uint32_t words;
    const char *rule;
};
static const struct relation relations[RELATIONS + 1];
static const struct word relation_words[RELATION_WORDS + 1];

/* ---- the device ---- */

/* Every structure of features: a head, and then as many booleans as it has. */
struct feature_block {
    uint32_t structure;
    void *next;
    VkBool32 member[64];
};

#define MAX_FEATURES 16

struct device {
    VkPhysicalDevice physical;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes;
#if MESH
    struct feature_block mesh; /* VkPhysicalDeviceMeshShaderPropertiesEXT */
#endif
    uint32_t version; /* usable: that of the instance, or of the device if that is older */
    VkExtensionProperties *extensions;
    uint32_t extension_count;
    uint32_t family;

    VkDevice handle;
    VkQueue queue;
    VkCommandPool pool;
};

static void fail(const char *what, VkResult result)
{
    fprintf(stderr, "%s returned %d\n", what, (int)result);
    exit(OTHER);
}

#define CHECK(call) \
    do { \
        VkResult check_result = (call); \
        if (check_result != VK_SUCCESS) \
            fail(#call, check_result); \
    } while (0)

/* The same where the driver works on the shader: everything that it needs was asked for and granted. */
static void fail_shader(const char *what, VkResult result)
{
    printf("FAILED: %s returned %d%s\n", what, (int)result, result == VK_ERROR_DEVICE_LOST ? " (device lost)" : "");
    exit(FAILED);
}

#define CHECK_SHADER(call) \
    do { \
        VkResult check_result = (call); \
        if (check_result != VK_SUCCESS) \
            fail_shader(#call, check_result); \
    } while (0)

static int has_extension(const struct device *device, const char *name)
{
    for (uint32_t i = 0; i < device->extension_count; i++)
        if (strcmp(device->extensions[i].extensionName, name) == 0)
            return 1;
    return 0;
}

static int instance_has_extension(const char *name)
{
    uint32_t count = 0;
    int found = 0;
    CHECK(vkEnumerateInstanceExtensionProperties(NULL, &count, NULL));
    VkExtensionProperties *extensions = calloc(count + 1, sizeof *extensions);
    CHECK(vkEnumerateInstanceExtensionProperties(NULL, &count, extensions));
    for (uint32_t i = 0; i < count; i++)
        found |= strcmp(extensions[i].extensionName, name) == 0;
    free(extensions);
    return found;
}

static VkInstance create_instance(uint32_t *version)
{
    uint32_t loader = VK_MAKE_VERSION(1, 0, 0);
    CHECK(vkEnumerateInstanceVersion(&loader));
    if (loader < VK_MAKE_VERSION(1, 1, 0)) {
        printf("CANNOT RUN: the Vulkan loader is older than 1.1\n");
        exit(CANNOT_RUN);
    }
    *version = loader < VK_MAKE_VERSION(1, 3, 0) ? loader : VK_MAKE_VERSION(1, 3, 0);
    /* Where drivers stand on another API (MoltenVK, say) they are only listed on demand. */
    const char *portability = "VK_KHR_portability_enumeration";
    int has_portability = instance_has_extension(portability);
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "repro", .apiVersion = *version};
    VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .flags = has_portability ? 1 : 0,
        .pApplicationInfo = &application,
        .enabledExtensionCount = has_portability ? 1 : 0,
        .ppEnabledExtensionNames = &portability};
    VkInstance instance;
    VkResult result = vkCreateInstance(&info, NULL, &instance);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        printf("CANNOT RUN: the Vulkan loader found no driver\n");
        exit(CANNOT_RUN);
    }
    if (result != VK_SUCCESS)
        fail("vkCreateInstance", result);
    return instance;
}

static int find_family(struct device *device)
{
    uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &count, NULL);
    VkQueueFamilyProperties *families = calloc(count + 1, sizeof *families);
    vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &count, families);
    int found = 0;
    for (uint32_t i = 0; i < count && !found; i++) {
        if (families[i].queueCount > 0 && (families[i].queueFlags & QUEUE)) {
            device->family = i;
            found = 1;
        }
    }
    free(families);
    return found;
}

static int is_available(const struct device *device, const struct feature *feature)
{
    if (feature->core_since != 0 && device->version >= feature->core_since)
        return 1;
    return feature->extension[0] != '\0' && has_extension(device, feature->extension);
}

/*
 * Chains up the structures of the needed features that the device knows, VkPhysicalDeviceFeatures2 first; with `switched_on`, the
 * features are set in them.
 */
static VkPhysicalDeviceFeatures2 *chain_features(const struct device *device, struct feature_block *blocks, int switched_on)
{
    uint32_t count = 1;
    memset(blocks, 0, MAX_FEATURES * sizeof *blocks);
    blocks[0].structure = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    for (const struct feature *feature = features; feature->name != NULL; feature++) {
        if (feature->structure == 0 || !is_available(device, feature))
            continue;
        uint32_t i = 0;
        while (i < count && blocks[i].structure != feature->structure)
            i++;
        if (i == count) {
            blocks[i].structure = feature->structure;
            blocks[i - 1].next = &blocks[i];
            count++;
        }
        blocks[i].member[feature->member] = switched_on ? VK_TRUE : VK_FALSE;
    }
    return (VkPhysicalDeviceFeatures2 *)blocks;
}

static VkBool32 has_feature(const struct feature_block *blocks, const struct feature *feature)
{
    if (feature->structure == 0)
        return VK_TRUE; /* the extension is all there is */
    for (uint32_t i = 0; i < MAX_FEATURES; i++)
        if (blocks[i].structure == feature->structure)
            return blocks[i].member[feature->member];
    return VK_FALSE;
}

static int lacks(const char *name, const char *what)
{
    printf("%s lacks %s\n", name, what);
    return 1;
}

/* Says what the device lacks; gives the number of things. */
static int missing(const struct device *device)
{
    const char *name = device->properties.deviceName;
#if LIMITS
    const VkPhysicalDeviceLimits *limits = &device->properties.limits;
#endif
    int count = 0;
    if (device->version < VK_MAKE_VERSION(1, 1, 0))
        return lacks(name, "Vulkan 1.1");
    if (SPIRV_VERSION >= 0x10600 && device->version < VK_MAKE_VERSION(1, 3, 0))
        count += lacks(name, "Vulkan 1.3, for SPIR-V 1.6");
    if (SPIRV_VERSION == 0x10500 && device->version < VK_MAKE_VERSION(1, 2, 0))
        count += lacks(name, "Vulkan 1.2, for SPIR-V 1.5");
    if (SPIRV_VERSION == 0x10400 && device->version < VK_MAKE_VERSION(1, 2, 0) && !has_extension(device, "VK_KHR_spirv_1_4"))
        count += lacks(name, "VK_KHR_spirv_1_4");
    if ((device->subgroup.supportedStages & STAGE) == 0)
        count += lacks(name, "subgroup operations in " STAGE_NAME " shaders");
    if ((SUBGROUP_OPERATIONS & ~device->subgroup.supportedOperations) != 0)
        count += lacks(name, "some of the subgroup operations");
#if NO_QUADS
    if ((SUBGROUP_OPERATIONS & VK_SUBGROUP_FEATURE_QUAD_BIT) != 0 && !device->subgroup.quadOperationsInAllStages)
        count += lacks(name, "quad operations in " STAGE_NAME " shaders");
#endif

#if DESCRIPTOR_ARRAYS
    uint32_t storage = BINDINGS - 1, uniform = 1, images = 0;
    for (uint32_t i = 0; i < DESCRIPTOR_ARRAYS; i++)
        *(array_types[i] == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER     ? &storage
                : array_types[i] == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER ? &uniform
                                                                      : &images) += RESOURCES;
    if (storage > limits->maxPerStageDescriptorStorageBuffers || uniform > limits->maxPerStageDescriptorUniformBuffers
        || images > limits->maxPerStageDescriptorStorageImages)
        count += lacks(name, "room for so many descriptors");
#endif
#if SEVERAL_SAMPLES
    if (!limits->standardSampleLocations || (limits->framebufferNoAttachmentsSampleCounts & SAMPLES) == 0)
        count += lacks(name, "so many samples at the standard locations");
#endif
#if FLOAT_CONTROLS
    if (device->version >= VK_MAKE_VERSION(1, 2, 0) || has_extension(device, "VK_KHR_shader_float_controls")) {
        /* VkPhysicalDeviceFloatControlsProperties: two enumerations, and then booleans. */
        struct feature_block controls = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES_KHR, NULL, {0}};
        VkPhysicalDeviceProperties2 all = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &controls, {0}};
        vkGetPhysicalDeviceProperties2(device->physical, &all);
        for (uint32_t i = 0; i < 32; i++)
            if ((FLOAT_CONTROLS >> i & 1u) != 0 && !controls.member[i])
                count += lacks(name, "what the module asks of floats");
    }
#endif
    struct feature_block blocks[MAX_FEATURES];
    vkGetPhysicalDeviceFeatures2(device->physical, chain_features(device, blocks, 0));
    for (const struct feature *feature = features; feature->name != NULL; feature++) {
        int is_offered = 0, was_looked_at = 0;
        for (const struct feature *other = features; other->name != NULL; other++) {
            if (strcmp(other->name, feature->name) != 0)
                continue;
            was_looked_at |= other < feature;
            is_offered |= is_available(device, other) && has_feature(blocks, other);
        }
        if (!is_offered && !was_looked_at)
            count += lacks(name, feature->name);
    }

    uint32_t smallest = device->subgroup.subgroupSize, required = REQUIRED_SUBGROUP_SIZE;
    if (required != 0) {
        smallest = required;
        if ((device->sizes.requiredSubgroupSizeStages & STAGE) == 0)
            count += lacks(name, "required subgroup sizes in " STAGE_NAME " shaders");
        if (required < device->sizes.minSubgroupSize || required > device->sizes.maxSubgroupSize)
            count += lacks(name, "the subgroup size");
#if WORKGROUPS
        if (INVOCATIONS > (uint64_t)required * device->sizes.maxComputeWorkgroupSubgroups)
            count += lacks(name, "so many subgroups in a workgroup");
#endif
    } else if ((ALLOW_VARYING_SIZE || SPIRV_VERSION >= 0x10600) && device->sizes.minSubgroupSize != 0) {
        smallest = device->sizes.minSubgroupSize;
    }
    if (smallest < MIN_SUBGROUP_SIZE)
        count += lacks(name, "subgroups that are large enough");
#if COMPUTE

    const uint32_t *size = limits->maxComputeWorkGroupSize, *groups = limits->maxComputeWorkGroupCount;
    if (INVOCATIONS > limits->maxComputeWorkGroupInvocations || WORKGROUP_X > size[0] || WORKGROUP_Y > size[1] ||
        WORKGROUP_Z > size[2] || GROUPS_X > groups[0] || GROUPS_Y > groups[1] || GROUPS_Z > groups[2])
        count += lacks(name, "workgroups of this size or number");
#endif
#if MESH

    /* maxTaskWorkGroupTotalCount or maxMeshWorkGroupTotalCount, and the next members: ...Count[3], ...Invocations, ...Size[3] */
    const uint32_t *limit = device->mesh.member + MESH_LIMITS;
    if (GROUPS_X * GROUPS_Y * GROUPS_Z > limit[0] || GROUPS_X > limit[1] || GROUPS_Y > limit[2] || GROUPS_Z > limit[3] ||
        INVOCATIONS > limit[4] || WORKGROUP_X > limit[5] || WORKGROUP_Y > limit[6] || WORKGROUP_Z > limit[7])
        count += lacks(name, "workgroups of this size or number");
#endif
    return count;
}

static void query_device(struct device *device, uint32_t instance_version)
{
    VkPhysicalDevice physical = device->physical;
    vkGetPhysicalDeviceProperties(physical, &device->properties);
    uint32_t own = device->properties.apiVersion;
    device->version = own < instance_version ? own : instance_version;
    CHECK(vkEnumerateDeviceExtensionProperties(physical, NULL, &device->extension_count, NULL));
    device->extensions = calloc(device->extension_count + 1, sizeof *device->extensions);
    CHECK(vkEnumerateDeviceExtensionProperties(physical, NULL, &device->extension_count, device->extensions));
    if (device->version < VK_MAKE_VERSION(1, 1, 0))
        return;
    int has_sizes = device->version >= VK_MAKE_VERSION(1, 3, 0) || has_extension(device, "VK_EXT_subgroup_size_control");
    device->sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT;
    device->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    device->subgroup.pNext = has_sizes ? &device->sizes : NULL;
#if MESH
    if (has_extension(device, "VK_EXT_mesh_shader")) {
        device->mesh.structure = 1000328001;
        device->mesh.next = device->subgroup.pNext;
        device->subgroup.pNext = &device->mesh;
    }
#endif
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &device->subgroup};
    vkGetPhysicalDeviceProperties2(physical, &properties);
}

/* The first device with `part` in its name that can run this. */
static struct device pick_device(VkInstance instance, uint32_t instance_version, const char *part)
{
    uint32_t count = 0;
    VkResult result = vkEnumeratePhysicalDevices(instance, &count, NULL);
    if (result != VK_SUCCESS && result != VK_ERROR_INITIALIZATION_FAILED)
        fail("vkEnumeratePhysicalDevices", result);
    VkPhysicalDevice *all = calloc(count + 1, sizeof(VkPhysicalDevice));
    if (count > 0)
        CHECK(vkEnumeratePhysicalDevices(instance, &count, all));
    for (uint32_t i = 0; i < count; i++) {
        struct device device = {.physical = all[i]};
        query_device(&device, instance_version);
        if (strstr(device.properties.deviceName, part) != NULL && missing(&device) == 0 && find_family(&device)) {
            free(all);
            return device;
        }
    }
    printf("CANNOT RUN: none of the %u devices here%s%s can run this\n", (unsigned)count, part[0] ? " with the name " : "", part);
    exit(CANNOT_RUN);
}

static void open_device(struct device *device)
{
    const char *names[MAX_FEATURES + 4];
    uint32_t name_count = 0;
    for (const struct feature *feature = features; feature->name != NULL; feature++) {
        if (!is_available(device, feature))
            continue; /* another row with its name is */
        int is_core = feature->core_since != 0 && device->version >= feature->core_since;
        int is_listed = is_core;
        for (uint32_t i = 0; i < name_count; i++)
            is_listed |= strcmp(names[i], feature->extension) == 0;
        if (!is_listed)
            names[name_count++] = feature->extension;
    }
    if (SPIRV_VERSION == 0x10400 && device->version < VK_MAKE_VERSION(1, 2, 0)) {
        names[name_count++] = "VK_KHR_spirv_1_4";
        names[name_count++] = "VK_KHR_shader_float_controls";
    }
    if (has_extension(device, "VK_KHR_portability_subset"))
        names[name_count++] = "VK_KHR_portability_subset";

    struct feature_block blocks[MAX_FEATURES];
    float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = device->family,
        .queueCount = 1,
        .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = chain_features(device, blocks, 1),
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = name_count,
        .ppEnabledExtensionNames = names};
    CHECK(vkCreateDevice(device->physical, &info, NULL, &device->handle));
    vkGetDeviceQueue(device->handle, device->family, 0, &device->queue);
    VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = device->family};
    CHECK(vkCreateCommandPool(device->handle, &pool, NULL, &device->pool));
}

/* ---- buffers and the pipeline ---- */

struct buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    uint32_t *words;
    size_t bytes;
};

static uint32_t find_memory(const struct device *device, uint32_t allowed)
{
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(device->physical, &memory);
    VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
        if ((allowed >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted)
            return i;
    fprintf(stderr, "no memory that the host sees\n");
    exit(OTHER);
}

static struct buffer create_buffer(const struct device *device, VkBufferUsageFlags usage, size_t words, const uint32_t *data)
{
    struct buffer buffer = {.bytes = words * 4};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = buffer.bytes, .usage = usage};
    CHECK(vkCreateBuffer(device->handle, &info, NULL, &buffer.handle));
    VkMemoryRequirements requirements;
    vkGetBufferMemoryRequirements(device->handle, buffer.handle, &requirements);
    VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = requirements.size,
        .memoryTypeIndex = find_memory(device, requirements.memoryTypeBits)};
    CHECK(vkAllocateMemory(device->handle, &allocate, NULL, &buffer.memory));
    CHECK(vkBindBufferMemory(device->handle, buffer.handle, buffer.memory, 0));
    void *mapped;
    CHECK(vkMapMemory(device->handle, buffer.memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    buffer.words = mapped;
    if (data != NULL)
        memcpy(buffer.words, data, buffer.bytes);
    return buffer;
}

struct work {
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    struct buffer buffers[BINDINGS];
    VkDescriptorSet set;
    VkPipeline pipeline;
    VkCommandBuffer commands;
    VkFence fence;
#if GRAPHICS
    VkRenderPass render_pass;
    VkFramebuffer framebuffer;
#endif
#if DESCRIPTOR_ARRAYS
    VkImage images[RESOURCES];
#endif
};

static VkDescriptorType binding_type(uint32_t binding)
{
    return binding == UNIFORMS ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

static void create_layout(const struct device *device, struct work *work)
{
    VkDescriptorSetLayoutBinding bindings[BINDINGS + DESCRIPTOR_ARRAYS];
    for (uint32_t i = 0; i < BINDINGS; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i, .descriptorType = binding_type(i), .descriptorCount = 1, .stageFlags = BUFFER_STAGES};
#if DESCRIPTOR_ARRAYS
    for (uint32_t i = 0; i < DESCRIPTOR_ARRAYS; i++)
        bindings[BINDINGS + i] = (VkDescriptorSetLayoutBinding){
            .binding = array_bindings[i],
            .descriptorType = (VkDescriptorType)array_types[i],
            .descriptorCount = RESOURCES,
            .stageFlags = BUFFER_STAGES};
#endif
    VkDescriptorSetLayoutCreateInfo set_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = BINDINGS + DESCRIPTOR_ARRAYS,
        .pBindings = bindings};
    CHECK(vkCreateDescriptorSetLayout(device->handle, &set_info, NULL, &work->set_layout));
    VkPushConstantRange range = {.stageFlags = STAGE, .size = PUSH_WORDS * 4};
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &work->set_layout,
        .pushConstantRangeCount = PUSH_WORDS != 0,
        .pPushConstantRanges = &range};
    CHECK(vkCreatePipelineLayout(device->handle, &layout, NULL, &work->layout));
}

static VkShaderModule create_module(const struct device *device, const uint32_t *words, size_t count)
{
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = count * 4, .pCode = words};
    VkShaderModule module;
    CHECK_SHADER(vkCreateShaderModule(device->handle, &info, NULL, &module));
    return module;
}

static void create_pipeline(const struct device *device, struct work *work)
{
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT,
        .requiredSubgroupSize = REQUIRED_SUBGROUP_SIZE};
    VkPipelineShaderStageCreateFlags flags = 0;
    if (ALLOW_VARYING_SIZE)
        flags |= VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT;
    if (REQUIRE_FULL_SUBGROUPS)
        flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
    VkSpecializationMapEntry entries[CONSTANTS + 1];
    VkSpecializationInfo constants = {
        .mapEntryCount = CONSTANTS, .pMapEntries = entries, .dataSize = CONSTANTS * 4, .pData = constant_values};
    for (uint32_t i = 0; i < constants.mapEntryCount; i++)
        entries[i] = (VkSpecializationMapEntry){.constantID = constant_ids[i], .offset = i * 4, .size = 4};
    VkPipelineShaderStageCreateInfo stage = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
        .pNext = REQUIRED_SUBGROUP_SIZE != 0 ? &size : NULL,
        .flags = flags,
        .stage = STAGE,
        .module = create_module(device, spirv, SPIRV_WORDS),
        .pName = "main",
        .pSpecializationInfo = &constants};
#if COMPUTE
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = DISABLE_OPTIMIZATION ? VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT : 0,
        .stage = stage,
        .layout = work->layout};
    CHECK_SHADER(vkCreateComputePipelines(device->handle, VK_NULL_HANDLE, 1, &info, NULL, &work->pipeline));
#endif
#if GRAPHICS
    VkPipelineShaderStageCreateInfo stages[BESIDE + 1];
    for (uint32_t i = 0; beside[i].words != 0; i++)
        stages[i] = (VkPipelineShaderStageCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = (VkShaderStageFlagBits)beside[i].stage,
            .module = create_module(device, beside_spirv + beside[i].first, beside[i].words),
            .pName = "main"};
    stages[BESIDE] = stage;
    VkPipelineVertexInputStateCreateInfo input = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO, .topology = TOPOLOGY};
    VkPipelineTessellationStateCreateInfo tessellation = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_TESSELLATION_STATE_CREATE_INFO, .patchControlPoints = 1};
    VkViewport area = {.width = WIDTH, .height = HEIGHT, .maxDepth = 1.0f};
    VkRect2D scissor = {.extent = {WIDTH, HEIGHT}};
    VkPipelineViewportStateCreateInfo viewport = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1,
        .pViewports = &area,
        .scissorCount = 1,
        .pScissors = &scissor};
    VkPipelineRasterizationStateCreateInfo rasterization = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .rasterizerDiscardEnable = STAGE != VK_SHADER_STAGE_FRAGMENT_BIT,
        .lineWidth = 1.0f};
    VkPipelineMultisampleStateCreateInfo multisample = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO, .rasterizationSamples = (VkSampleCountFlagBits)SAMPLES};
    VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
    VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .flags = DISABLE_OPTIMIZATION ? VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT : 0,
        .stageCount = BESIDE + 1,
        .pStages = stages,
        .pVertexInputState = &input,
        .pInputAssemblyState = &assembly,
        .pTessellationState = TOPOLOGY == VK_PRIMITIVE_TOPOLOGY_PATCH_LIST ? &tessellation : NULL,
        .pViewportState = &viewport,
        .pRasterizationState = &rasterization,
        .pMultisampleState = &multisample,
        .pColorBlendState = &blend,
        .layout = work->layout,
        .renderPass = work->render_pass};
    CHECK_SHADER(vkCreateGraphicsPipelines(device->handle, VK_NULL_HANDLE, 1, &info, NULL, &work->pipeline));
#endif
}

#if GRAPHICS
/* Nothing is attached: what a shader does it shows in buffers. */
static void create_framebuffer(const struct device *device, struct work *work)
{
    VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS};
    VkRenderPassCreateInfo pass = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO, .subpassCount = 1, .pSubpasses = &subpass};
    CHECK(vkCreateRenderPass(device->handle, &pass, NULL, &work->render_pass));
    VkFramebufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
        .renderPass = work->render_pass,
        .width = WIDTH,
        .height = HEIGHT,
        .layers = LAYERS};
    CHECK(vkCreateFramebuffer(device->handle, &info, NULL, &work->framebuffer));
}
#endif

static void create_buffers(const struct device *device, struct work *work)
{
    VkBufferUsageFlags storage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    work->buffers[INPUTS] = create_buffer(device, storage, INPUT_WORDS + 1, inputs);
    work->buffers[UNIFORMS] = create_buffer(device, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, UNIFORM_WORDS + 1, uniforms);
    work->buffers[MAP] = create_buffer(device, storage, BUFFER_LENGTH, NULL);
    work->buffers[LOG] = create_buffer(device, storage, (size_t)ALL * LOG_STRIDE, NULL);
    work->buffers[ARRAYS] = create_buffer(device, storage, ARRAY_WORDS + 1, NULL);
#if FRAGMENTS
    work->buffers[CORNERS] = create_buffer(device, storage, CORNER_WORDS, corners);
#endif
}

#if DESCRIPTOR_ARRAYS
static const VkImageSubresourceRange one_texel = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1};

/* An image of one texel. What is in it is recorded with the commands. */
static VkImageView create_image(const struct device *device, VkImage *image)
{
    VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_R32_UINT,
        .extent = {1, 1, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    CHECK(vkCreateImage(device->handle, &info, NULL, image));
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(device->handle, *image, &needs);
    uint32_t type = 0;
    while ((needs.memoryTypeBits >> type & 1) == 0)
        type++;
    VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
    VkDeviceMemory memory;
    CHECK(vkAllocateMemory(device->handle, &allocate, NULL, &memory));
    CHECK(vkBindImageMemory(device->handle, *image, memory, 0));
    VkImageViewCreateInfo view_info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = *image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = VK_FORMAT_R32_UINT,
        .subresourceRange = one_texel};
    VkImageView view;
    CHECK(vkCreateImageView(device->handle, &view_info, NULL, &view));
    return view;
}

/* Makes a resource and points its descriptor to it. */
static void write_resource(const struct device *device, struct work *work, uint32_t array, uint32_t element)
{
    VkDescriptorType type = (VkDescriptorType)array_types[array];
    VkDescriptorBufferInfo buffer = {.range = VK_WHOLE_SIZE};
    VkDescriptorImageInfo image = {.imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    VkBufferView view = VK_NULL_HANDLE;
    if (type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE) {
        image.imageView = create_image(device, &work->images[element]);
    } else {
        VkBufferUsageFlags usage = type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER ? VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT
            : type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER              ? VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT
                                                                           : VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
        uint32_t words[4] = {resources[element], 0, 0, 0};
        buffer.buffer = create_buffer(device, usage, 4, words).handle;
        VkBufferViewCreateInfo view_info = {
            .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
            .buffer = buffer.buffer,
            .format = VK_FORMAT_R32_UINT,
            .range = VK_WHOLE_SIZE};
        if (type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER)
            CHECK(vkCreateBufferView(device->handle, &view_info, NULL, &view));
    }
    VkWriteDescriptorSet write = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
        .dstSet = work->set,
        .dstBinding = array_bindings[array],
        .dstArrayElement = element,
        .descriptorCount = 1,
        .descriptorType = type,
        .pBufferInfo = &buffer,
        .pTexelBufferView = &view,
        .pImageInfo = &image};
    vkUpdateDescriptorSets(device->handle, 1, &write, 0, NULL);
}
#endif

static void create_set(const struct device *device, struct work *work)
{
    VkDescriptorPoolSize sizes[BINDINGS + DESCRIPTOR_ARRAYS];
    for (uint32_t i = 0; i < BINDINGS; i++)
        sizes[i] = (VkDescriptorPoolSize){.type = binding_type(i), .descriptorCount = 1};
#if DESCRIPTOR_ARRAYS
    for (uint32_t i = 0; i < DESCRIPTOR_ARRAYS; i++)
        sizes[BINDINGS + i] =
            (VkDescriptorPoolSize){.type = (VkDescriptorType)array_types[i], .descriptorCount = RESOURCES};
#endif
    VkDescriptorPoolCreateInfo pool_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = 1,
        .poolSizeCount = BINDINGS + DESCRIPTOR_ARRAYS,
        .pPoolSizes = sizes};
    VkDescriptorPool pool;
    CHECK(vkCreateDescriptorPool(device->handle, &pool_info, NULL, &pool));
    VkDescriptorSetAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &work->set_layout};
    CHECK(vkAllocateDescriptorSets(device->handle, &allocate, &work->set));
    for (uint32_t i = 0; i < BINDINGS; i++) {
        VkDescriptorBufferInfo buffer = {.buffer = work->buffers[i].handle, .range = VK_WHOLE_SIZE};
        VkWriteDescriptorSet write = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = work->set,
            .dstBinding = i,
            .descriptorCount = 1,
            .descriptorType = binding_type(i),
            .pBufferInfo = &buffer};
        vkUpdateDescriptorSets(device->handle, 1, &write, 0, NULL);
    }
#if DESCRIPTOR_ARRAYS
    for (uint32_t i = 0; i < DESCRIPTOR_ARRAYS * RESOURCES; i++)
        write_resource(device, work, i / RESOURCES, i % RESOURCES);
#endif
}

#if DESCRIPTOR_ARRAYS
/* Puts the texel into an image. */
static void record_image(VkCommandBuffer commands, VkImage image, uint32_t texel)
{
    VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
        .newLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = one_texel};
    vkCmdPipelineBarrier(
        commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
    VkClearColorValue color = {.uint32 = {texel}};
    vkCmdClearColorImage(commands, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1, &one_texel);
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT;
    barrier.oldLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    vkCmdPipelineBarrier(
        commands, VK_PIPELINE_STAGE_TRANSFER_BIT, PIPELINE_STAGE, 0, 0, NULL, 0, NULL, 1, &barrier);
}
#endif

static void record_commands(const struct device *device, struct work *work)
{
    VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = device->pool, .commandBufferCount = 1};
    CHECK(vkAllocateCommandBuffers(device->handle, &allocate, &work->commands));
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    CHECK(vkCreateFence(device->handle, &fence, NULL, &work->fence));
    VkCommandBuffer commands = work->commands;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECK(vkBeginCommandBuffer(commands, &begin));
#if DESCRIPTOR_ARRAYS
    for (uint32_t i = 0; i < RESOURCES; i++)
        if (work->images[i] != VK_NULL_HANDLE)
            record_image(commands, work->images[i], resources[i]);
#endif
#if GRAPHICS
    VkRenderPassBeginInfo pass = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
        .renderPass = work->render_pass,
        .framebuffer = work->framebuffer,
        .renderArea = {.extent = {WIDTH, HEIGHT}}};
    vkCmdBeginRenderPass(commands, &pass, VK_SUBPASS_CONTENTS_INLINE);
#endif
    vkCmdBindPipeline(commands, BIND_POINT, work->pipeline);
    vkCmdBindDescriptorSets(commands, BIND_POINT, work->layout, 0, 1, &work->set, 0, NULL);
    if (PUSH_WORDS != 0)
        vkCmdPushConstants(commands, work->layout, STAGE, 0, PUSH_WORDS * 4, push_constants);
#if COMPUTE
    vkCmdDispatch(commands, GROUPS_X, GROUPS_Y, GROUPS_Z);
#endif
#if MESH
    typedef void(VKAPI_PTR * draw_mesh_tasks)(VkCommandBuffer, uint32_t, uint32_t, uint32_t);
    draw_mesh_tasks draw = (draw_mesh_tasks)vkGetDeviceProcAddr(device->handle, "vkCmdDrawMeshTasksEXT");
    draw(commands, DRAWN_X, DRAWN_Y, DRAWN_Z);
#endif
#if VERTICES
    vkCmdDraw(commands, VERTICES, INSTANCES, 0, 0);
#endif
#if GRAPHICS
    vkCmdEndRenderPass(commands);
#endif
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(
        commands, PIPELINE_STAGE, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    CHECK(vkEndCommandBuffer(commands));
}

static void launch(const struct device *device, struct work *work)
{
    memset(work->buffers[MAP].words, 0, work->buffers[MAP].bytes);
    memset(work->buffers[LOG].words, 0, work->buffers[LOG].bytes);
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &work->commands};
    CHECK_SHADER(vkQueueSubmit(device->queue, 1, &submit, work->fence));
    VkResult result = vkWaitForFences(device->handle, 1, &work->fence, VK_TRUE, TIME_LIMIT_SECONDS * 1000000000ull);
    if (result == VK_TIMEOUT) {
        printf("FAILED: the shader did not end within %d seconds\n", TIME_LIMIT_SECONDS);
        fflush(stdout);
        _Exit(FAILED); /* without the driver's exit handlers, which would wait for it */
    }
    if (result != VK_SUCCESS)
        fail_shader("vkWaitForFences", result);
    CHECK(vkResetFences(device->handle, 1, &work->fence));
}

/* ---- the rules of the lane map ---- */

static int broken_rules;

/*
 * The lane map of a buffer. There a record has lane and size in halves of one word, and the numbers of the subgroup and of all subgroups; the token has
 * TOKEN_OFFSET added to it where a record was written.
 */
static void unpack_map(const uint32_t *buffer, uint32_t *map)
{
    for (uint32_t *record = map; record < map + ALL * MAP_WORDS; record += MAP_WORDS) {
        record[LANE] = *buffer & 0xffff;
        record[SUBGROUP_SIZE] = *buffer++ >> 16;
#if WORKGROUPS
        record[SUBGROUP_ID] = *buffer & 0xffff;
        record[NUM_SUBGROUPS] = *buffer++ >> 16;
#endif
        record[WRITTEN] = *buffer != 0;
        record[TOKEN] = record[WRITTEN] ? *buffer - TOKEN_OFFSET : 0;
        buffer++;
        for (uint32_t k = BALLOT; k < WRITTEN; k++)
            record[k] = *buffer++;
    }
    memcpy(map + ALL * MAP_WORDS, buffer, BEHIND_RECORDS * sizeof *map);
}

/* The name of an invocation, by its place among all. */
static const char *name_of(uint32_t place)
{
    static char name[160];
#if WORKGROUPS
    snprintf(name, sizeof name, "workgroup %u, invocation %u", (unsigned)(place / INVOCATIONS), (unsigned)(place % INVOCATIONS));
#endif
#if FRAGMENTS
    uint32_t slice = place / (COLUMNS * ROWS);
    snprintf(name, sizeof name, "triangle %u, layer %u, sample %u, pixel (%u, %u)", (unsigned)(slice / SAMPLES % TRIANGLES),
        (unsigned)(slice / SAMPLES / TRIANGLES), (unsigned)(slice % SAMPLES), (unsigned)(place % COLUMNS),
        (unsigned)(place / COLUMNS % ROWS));
#endif
#if ITEMS
    snprintf(name, sizeof name, ITEM_NAME " %u, " INVOCATION_NAME " %u, execution %u", (unsigned)(place / ITEM_SIZE % ITEM_COUNT),
        (unsigned)(place % ITEM_SIZE), (unsigned)(place / IDENTITIES + 1));
#endif
    return name;
}

static void broken(const char *rule, uint32_t place, uint32_t seen)
{
    if (broken_rules++ < 16)
        printf("BROKEN RULE: %s (%s: %u)\n", rule, name_of(place), (unsigned)seen);
}

static int is_allowed_size(const struct device *device, uint32_t size)
{
    if (REQUIRED_SUBGROUP_SIZE != 0)
        return size == REQUIRED_SUBGROUP_SIZE;
    if ((!ALLOW_VARYING_SIZE && SPIRV_VERSION < 0x10600) || device->sizes.maxSubgroupSize == 0)
        return size == device->subgroup.subgroupSize;
    return size >= device->sizes.minSubgroupSize && size <= device->sizes.maxSubgroupSize;
}

#if FRAGMENTS
static int is_covered(uint32_t place)
{
    return covered[place / 32] >> place % 32 & 1;
}

/* What the others of a fragment's quad report: their place, lane, and whether they are helpers. `seen` has the fragments of the subgroup. */
static void check_quad(const uint32_t *map, uint32_t place, const uint32_t *seen)
{
    const uint32_t *record = map + place * MAP_WORDS;
    for (uint32_t k = 1; k < 4; k++) {
        uint32_t lane = record[LANE] ^ k, word = record[QUAD + k - 1], x = place % COLUMNS, y = place / COLUMNS % ROWS, other;
        x += (k & 1) == 0 ? 0 : (record[LANE] & 1) != 0 ? -1u : 1;
        y += (k & 2) == 0 ? 0 : (record[LANE] & 2) != 0 ? -1u : 1;
        other = (place / (COLUMNS * ROWS) * ROWS + y) * COLUMNS + x;
        int is_right = x < COLUMNS && y < ROWS && word >> 8 == other && (word >> 1 & 127) == lane;
        if (is_right && (word & 1) != 0)
            is_right = (seen[lane / 32] >> lane % 32 & 1) == 0;
        else if (is_right)
            is_right = is_covered(other) && map[other * MAP_WORDS + TOKEN] == record[TOKEN] && map[other * MAP_WORDS + LANE] == lane;
        if (!is_right)
            broken("lanes 4q to 4q+3 are a quad of neighbouring pixels of one layer and sample, in the order of rows", place, word);
        else if (HELPERS_ARE_ACTIVE && (record[BALLOT + lane / 32] >> lane % 32 & 1) == 0)
            broken("helper invocations are active as long as their quad has a fragment", place, record[BALLOT]);
    }
}

#endif
/* The lanes of the invocations of a group with one token: one subgroup. `base` is the group's first place. Gives their number. */
static uint32_t check_subgroup(const uint32_t *map, uint32_t base, uint32_t token)
{
    uint32_t seen[4] = {0, 0, 0, 0}, members = 0, lowest = 0, has_owner = 0;
    for (uint32_t i = 0; i < INVOCATIONS; i++) {
        const uint32_t *record = map + i * MAP_WORDS;
        uint32_t lane = record[LANE];
        if (record[TOKEN] != token || !record[WRITTEN])
            continue;
        if (lane >= record[SUBGROUP_SIZE] || lane >= 128 || (seen[lane / 32] >> lane % 32 & 1) != 0) {
            broken("gl_SubgroupInvocationID is below gl_SubgroupSize and differs between lanes", base + i, lane);
            return 0;
        }
        seen[lane / 32] |= 1u << lane % 32;
        has_owner |= i == token;
        if (members++ == 0 || lane < map[lowest * MAP_WORDS + LANE])
            lowest = i;
    }
    if (!has_owner || lowest != token)
        broken(TOKEN_RULE, base + lowest, token);
    for (uint32_t i = 0; i < INVOCATIONS; i++) {
        const uint32_t *record = map + i * MAP_WORDS;
        if (record[TOKEN] != token || !record[WRITTEN])
            continue;
#if FRAGMENTS
        /* Helpers may be in it, too, and nobody else. */
        int is_right = memcmp(record + BALLOT, map + lowest * MAP_WORDS + BALLOT, sizeof seen) == 0;
        for (uint32_t k = 0; k < 128; k++) {
            uint32_t bit = record[BALLOT + k / 32] >> k % 32 & 1;
            is_right &= bit >= (seen[k / 32] >> k % 32 & 1) && (bit == 0 || k < record[SUBGROUP_SIZE]);
        }
        check_quad(map, i, seen);
#else
        /* The shader has folded all its words but the first into one. */
        int is_right = record[BALLOT] == seen[0] && record[BALLOT + 1] == seen[1] + FOLD_Z * seen[2] + FOLD_W * seen[3];
#endif
        if (!is_right)
            broken("subgroupBallot(true) at entry is the set of the subgroup's lanes", base + i, record[BALLOT]);
    }
    return members;
}

#if WORKGROUPS
static void check_workgroup(const struct device *device, const uint32_t *map, uint32_t base, uint32_t dispatch_size)
{
    uint32_t subgroups = 0;
    int all_full = 1;
    for (uint32_t i = 0; i < INVOCATIONS; i++) {
        const uint32_t *record = map + i * MAP_WORDS;
        uint32_t size = record[SUBGROUP_SIZE];
        if (!record[WRITTEN]) {
            broken("every invocation executes the shader", base + i, record[WRITTEN]);
            return;
        }
        if (!is_allowed_size(device, size) || size != dispatch_size || (size & (size - 1)) != 0 || size > 128)
            broken("gl_SubgroupSize is the size asked for, one for the whole dispatch", base + i, size);
        if (record[SUBGROUP_ID] >= record[NUM_SUBGROUPS])
            broken("gl_SubgroupID is below gl_NumSubgroups", base + i, record[SUBGROUP_ID]);
        if (record[NUM_SUBGROUPS] != map[NUM_SUBGROUPS])
            broken("gl_NumSubgroups is one number in a workgroup", base + i, record[NUM_SUBGROUPS]);
        int is_first = 1;
        for (uint32_t j = 0; j < i; j++) {
            const uint32_t *other = map + j * MAP_WORDS;
            int same = other[TOKEN] == record[TOKEN];
            is_first &= !same;
            if (same != (other[SUBGROUP_ID] == record[SUBGROUP_ID])) {
                broken("gl_SubgroupID is one number in each subgroup and differs between subgroups", base + i, record[SUBGROUP_ID]);
                break;
            }
        }
        if (!is_first)
            continue;
        subgroups++;
        uint32_t members = check_subgroup(map, base, record[TOKEN]);
        int full = (REQUIRE_FULL_SUBGROUPS || SPIRV_VERSION >= 0x10600) && WORKGROUP_X % size == 0;
        all_full &= full;
        if (full && members != size)
            broken("subgroups are full", base + i, members);
    }
    if (map[NUM_SUBGROUPS] < subgroups)
        broken("gl_NumSubgroups is not smaller than the number of subgroups", base, map[NUM_SUBGROUPS]);
    if (all_full && map[NUM_SUBGROUPS] > subgroups)
        broken("gl_NumSubgroups is the number of subgroups where all are full", base, map[NUM_SUBGROUPS]);
}

static void check_records(const struct device *device, const uint32_t *map)
{
    for (uint32_t base = 0; base < ALL; base += INVOCATIONS)
        check_workgroup(device, map + (size_t)base * MAP_WORDS, base, map[SUBGROUP_SIZE]);
#if PAYLOAD
    for (uint32_t i = 0; i < ALL * PAYLOAD_COPIES; i++)
        if (map[ALL * MAP_WORDS + i] != payload[i / PAYLOAD_COPIES])
            broken("each mesh workgroup is executed once and finds the payload of its task", i / PAYLOAD_COPIES,
                map[ALL * MAP_WORDS + i]);
#endif
}
#endif
#if VERTICES
#if FRAGMENTS
/* True if there is an invocation at a place, which writes a record. */
static int is_executed(const uint32_t *map, uint32_t place)
{
    (void)map;
    return is_covered(place);
}
#else
static int is_executed(const uint32_t *map, uint32_t place)
{
    return place / IDENTITIES < map[ALL * MAP_WORDS + place % IDENTITIES];
}
#endif

static void check_records(const struct device *device, const uint32_t *map)
{
    static const uint32_t nothing[MAP_WORDS];
    uint32_t size = 0;
#if ITEMS
    for (uint32_t i = 0; i < IDENTITIES; i++) {
        uint32_t count = map[ALL * MAP_WORDS + i];
        if (count == 0)
            broken("each vertex or primitive is executed at least once", i, count);
        if (count > EXECUTIONS)
            return; /* more than have a place: nothing is said */
    }
#endif
    for (uint32_t i = 0; i < ALL; i++) {
        const uint32_t *record = map + i * MAP_WORDS;
        if (is_executed(map, i) ? !record[WRITTEN] : memcmp(record, nothing, sizeof nothing) != 0)
            broken("exactly the invocations of the draw execute the shader and store", i, record[WRITTEN]);
        else if (is_executed(map, i) && size == 0)
            size = record[SUBGROUP_SIZE];
    }
    for (uint32_t i = 0; i < ALL && broken_rules == 0; i++) {
        const uint32_t *record = map + i * MAP_WORDS;
        uint32_t own = record[SUBGROUP_SIZE], token = record[TOKEN];
        if (!is_executed(map, i))
            continue;
        if (!is_allowed_size(device, own) || own != size || (own & (own - 1)) != 0 || own > 128)
            broken("gl_SubgroupSize is the size asked for, one for the whole draw", i, own);
        if (token >= ALL || !map[token * MAP_WORDS + WRITTEN] || map[token * MAP_WORDS + TOKEN] != token)
            broken(TOKEN_RULE, i, token);
        else if (token == i)
            check_subgroup(map, 0, token);
    }
}
#endif

/* True if every rule that the specifications have about lanes and subgroups is kept. */
static int check_map(const struct device *device, const uint32_t *map)
{
    broken_rules = 0;
    check_records(device, map);
    if (broken_rules > 0)
        printf("FAILED: %d times a rule about lanes and subgroups is broken\n", broken_rules);
    return broken_rules == 0;
}

/* ---- the logs ---- */

#define NEVER 0xffffffffu

/* Where an invocation's log is first wrong. */
struct wrong {
    uint32_t step;  /* in the order of execution; NEVER if nothing is wrong, NEVER - 1 after the last step */
    uint32_t at;    /* the entry's first word */
    uint32_t words; /* how many words of it are expected */
};

static const struct site *find_site(uint32_t id)
{
    for (const struct site *site = sites; site->source != NULL; site++)
        if (site->id == id)
            return site;
    return NULL;
}

static int is_open(uint32_t word)
{
    return left_open[word / 32] >> word % 32 & 1;
}

/* Compares entry by entry; what comes after the first wrong entry says nothing. */
static struct wrong compare_log(uint32_t invocation, const uint32_t *log)
{
    uint32_t first = log_start[invocation], count = log_start[invocation + 1] - first, at = 0;
    const uint32_t *expected = expected_log + first;
    for (uint32_t entry = entry_start[invocation]; entry < entry_start[invocation + 1]; entry++) {
        const struct site *site = find_site(expected[at]);
        uint32_t words = 1 + (site != NULL ? site->words : 0);
        for (uint32_t i = at; i < at + words; i++)
            if (!is_open(first + i) && log[i] != expected[i])
                return (struct wrong){step_of_entry[entry], at, words};
        at += words;
    }
    for (uint32_t i = count; i < LOG_STRIDE && !ends_open[invocation]; i++)
        if (log[i] != 0)
            return (struct wrong){NEVER - 1, count, 0};
    return (struct wrong){NEVER, 0, 0};
}

static void print_lane(uint32_t invocation, const struct wrong *wrong, const uint32_t *map, const uint32_t *log)
{
    const uint32_t *record = map + invocation * MAP_WORDS;
    uint32_t first = log_start[invocation];
    printf("%9u %5u %4u  ", (unsigned)(invocation % INVOCATIONS), (unsigned)record[TOKEN], (unsigned)record[LANE]);
    if (wrong->words == 0)
        printf("nothing more");
    for (uint32_t i = wrong->at; i < wrong->at + wrong->words; i++) {
        if (is_open(first + i))
            printf("? ");
        else
            printf("0x%x ", (unsigned)expected_log[first + i]);
    }
    printf(" ->");
    uint32_t shown = wrong->words > 4 ? wrong->words : 4, end = wrong->at + shown;
    if (end > LOG_STRIDE)
        end = LOG_STRIDE;
    if (log[wrong->at] == 0)
        printf(" nothing");
    else
        for (uint32_t i = wrong->at; i < end; i++)
            printf(" 0x%x", (unsigned)log[i]);
#if VERTICES
    printf("  (%s)", name_of(invocation));
#endif
    printf("\n");
}

/* True if every invocation logged what it had to. */
static int check_logs(const uint32_t *map, const uint32_t *logs)
{
    struct wrong *wrongs = calloc(ALL, sizeof *wrongs);
    uint32_t count = 0, first = 0, first_step = NEVER, shown = 0;
    for (uint32_t i = 0; i < ALL; i++) {
        wrongs[i] = compare_log(i, logs + (size_t)i * LOG_STRIDE);
        count += wrongs[i].step != NEVER;
        if (wrongs[i].step < first_step) {
            first_step = wrongs[i].step;
            first = i;
        }
    }
    if (count > 0) {
        uint32_t base = first / INVOCATIONS * INVOCATIONS;
        const struct site *site = wrongs[first].words > 0 ? find_site(expected_log[log_start[first] + wrongs[first].at]) : NULL;
        printf("FAILED: %u of %u invocations go wrong; first in %s", (unsigned)count, (unsigned)ALL, name_of(first));
        if (site != NULL)
            printf(" at step %u, site %u, line %u of the shader:\n    %s\n", (unsigned)first_step + 1, (unsigned)site->id,
                (unsigned)site->line, site->source);
        else
            printf(" after the last step\n");
        printf("invocation group lane  expected (the site, then its values) -> found\n");
        for (uint32_t i = base; i < base + INVOCATIONS; i++)
            if (wrongs[i].step == first_step && shown++ < 64)
                print_lane(i, &wrongs[i], map, logs + (size_t)i * LOG_STRIDE);
        if (shown > 64)
            printf("... and %u more\n", (unsigned)(shown - 64));
    }
    free(wrongs);
    return count == 0;
}

/* True if some choice of who executes operations together gives what was logged, as far as the relations tell. */
static int check_relations(const uint32_t *map, const uint32_t *logs)
{
    const struct word *words = relation_words;
    int broken = 0;
    for (const struct relation *relation = relations; relation->rule != NULL; words += relation->words, relation++) {
        int is_broken = 1;
        for (uint32_t i = 0; i < relation->words; i++)
            is_broken &= logs[(size_t)words[i].invocation * LOG_STRIDE + words[i].at] == words[i].value;
        if (!is_broken)
            continue;
        printf("FAILED: %s; together these are wrong, whoever executes operations together:\n"
               "workgroup invocation group lane  word of its log: value\n",
            relation->rule);
        for (uint32_t i = 0; i < relation->words; i++) {
            const uint32_t *record = map + (size_t)words[i].invocation * MAP_WORDS;
            printf("%9u %10u %5u %4u  %u: 0x%x\n", (unsigned)(words[i].invocation / INVOCATIONS),
                (unsigned)(words[i].invocation % INVOCATIONS), (unsigned)record[TOKEN], (unsigned)record[LANE],
                (unsigned)words[i].at, (unsigned)words[i].value);
        }
        broken++;
    }
    return broken == 0;
}

/* Judges what one launch left in the buffers, with the lane map as it was unpacked. */
static int judge_map(const struct device *device, const struct work *work, const uint32_t *map)
{
    const uint32_t *buffer = work->buffers[MAP].words, *logs = work->buffers[LOG].words;
    int verdict = check_map(device, map) ? PASSED : FAILED;
    if (!HAS_EXPECTED_VALUES)
        return verdict;
    if (memcmp(buffer, expected_map, sizeof expected_map) != 0) {
        uint32_t first = 0;
        while (first + 1 < ALL && memcmp(buffer + first * RECORD_WORDS, expected_map + first * RECORD_WORDS, RECORD_WORDS * 4) == 0)
            first++;
        uint32_t lanes = expected_map[first * RECORD_WORDS];
        map += first * MAP_WORDS;
        printf("The device places invocations in other lanes or subgroups than the ones that the expected values are for:\n"
               "%s is in lane %u of a subgroup of %u, expected lane %u of %u. The values are not compared.\n",
            name_of(first), (unsigned)map[LANE], (unsigned)map[SUBGROUP_SIZE], (unsigned)(lanes & 0xffff), (unsigned)(lanes >> 16));
        return verdict == PASSED ? CANNOT_RUN : verdict;
    }
    return check_logs(map, logs) && check_relations(map, logs) ? verdict : FAILED;
}

/* Judges one launch. */
static int judge(const struct device *device, const struct work *work)
{
    uint32_t *map = malloc(MAP_LENGTH * sizeof *map);
    unpack_map(work->buffers[MAP].words, map);
    int verdict = judge_map(device, work, map);
    free(map);
    return verdict;
}

/* A driver that crashes, or never ends, fails; where it was is for a debugger to say. */
static void died(int number)
{
#ifndef _WIN32
    static const char crash[] = "FAILED: the driver crashed\n", hang[] = "FAILED: the driver does not come to an end\n";
    ssize_t written = number == SIGALRM ? write(1, hang, sizeof hang - 1) : write(1, crash, sizeof crash - 1);
    (void)written;
#else
    (void)number;
#endif
    _Exit(FAILED);
}

static void watch_the_driver(void)
{
    const int fatal[] = {SIGSEGV, SIGABRT, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        signal(fatal[i], died);
#ifndef _WIN32
    signal(SIGBUS, died);
    signal(SIGALRM, died);
#endif
}

/* Time for the driver's next call; the time limit of the launch itself comes first. */
static void allow_time(void)
{
#ifndef _WIN32
    alarm(2 * TIME_LIMIT_SECONDS);
#endif
}

int main(int argc, char **argv)
{
    int runs = argc > 2 ? atoi(argv[2]) : 1, failed = 0, not_comparable = 0;
    uint32_t version;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    VkInstance instance = create_instance(&version);
    struct device device = pick_device(instance, version, argc > 1 ? argv[1] : "");
    printf("device: %s (vendor 0x%x, device 0x%x, driver 0x%x), subgroups of %u\n", device.properties.deviceName,
        (unsigned)device.properties.vendorID, (unsigned)device.properties.deviceID, (unsigned)device.properties.driverVersion,
        (unsigned)device.subgroup.subgroupSize);
    open_device(&device);
    struct work work = {0};
    create_layout(&device, &work);
    watch_the_driver();
    allow_time();
#if GRAPHICS
    create_framebuffer(&device, &work);
#endif
    create_pipeline(&device, &work);
    create_buffers(&device, &work);
    create_set(&device, &work);
    record_commands(&device, &work);
    for (int run = 0; run < runs; run++) {
        allow_time();
        launch(&device, &work);
        int verdict = judge(&device, &work);
        failed += verdict == FAILED;
        not_comparable += verdict == CANNOT_RUN;
    }
    if (runs > 1)
        printf("%d of %d runs failed\n", failed, runs);
    if (failed > 0)
        return FAILED;
    if (not_comparable > 0)
        return CANNOT_RUN;
    printf(HAS_EXPECTED_VALUES ? "PASSED\n" : "PASSED: it ran to its end (no values are compared)\n");
    return PASSED;
}

/* ---- the data ---- */

@DATA@
@SHADER@

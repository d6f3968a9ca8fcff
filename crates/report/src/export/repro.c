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

/* What every invocation writes about itself before any control flow; see the shader. */
enum { LANE, SUBGROUP_SIZE, SUBGROUP_ID, NUM_SUBGROUPS, TOKEN, BALLOT, WRITTEN = BALLOT + 4, MAP_WORDS };
#define WAS_WRITTEN 0x74616e67u

#define INVOCATIONS (WORKGROUP_X * WORKGROUP_Y * WORKGROUP_Z) /* in a workgroup */
#define WORKGROUPS (GROUPS_X * GROUPS_Y * GROUPS_Z)
#define ALL (INVOCATIONS * WORKGROUPS)

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

/* The lane map that the expected values are for: MAP_WORDS words for each invocation. */
static const uint32_t expected_map[HAS_EXPECTED_VALUES ? ALL * MAP_WORDS : 1];

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

static int find_compute_family(struct device *device)
{
    uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &count, NULL);
    VkQueueFamilyProperties *families = calloc(count + 1, sizeof *families);
    vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &count, families);
    int found = 0;
    for (uint32_t i = 0; i < count && !found; i++) {
        if (families[i].queueCount > 0 && (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) {
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
    const VkPhysicalDeviceLimits *limits = &device->properties.limits;
    int count = 0;
    if (device->version < VK_MAKE_VERSION(1, 1, 0))
        return lacks(name, "Vulkan 1.1");
    if (SPIRV_VERSION >= 0x10600 && device->version < VK_MAKE_VERSION(1, 3, 0))
        count += lacks(name, "Vulkan 1.3, for SPIR-V 1.6");
    if (SPIRV_VERSION == 0x10500 && device->version < VK_MAKE_VERSION(1, 2, 0))
        count += lacks(name, "Vulkan 1.2, for SPIR-V 1.5");
    if (SPIRV_VERSION == 0x10400 && device->version < VK_MAKE_VERSION(1, 2, 0) && !has_extension(device, "VK_KHR_spirv_1_4"))
        count += lacks(name, "VK_KHR_spirv_1_4");
    if ((device->subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0)
        count += lacks(name, "subgroup operations in compute shaders");
    if ((SUBGROUP_OPERATIONS & ~device->subgroup.supportedOperations) != 0)
        count += lacks(name, "some of the subgroup operations");

#if DESCRIPTOR_ARRAYS
    uint32_t storage = 4, uniform = 1, images = 0;
    for (uint32_t i = 0; i < DESCRIPTOR_ARRAYS; i++)
        *(array_types[i] == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER     ? &storage
                : array_types[i] == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER ? &uniform
                                                                      : &images) += RESOURCES;
    if (storage > limits->maxPerStageDescriptorStorageBuffers || uniform > limits->maxPerStageDescriptorUniformBuffers
        || images > limits->maxPerStageDescriptorStorageImages)
        count += lacks(name, "room for so many descriptors");
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
        if ((device->sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0)
            count += lacks(name, "required subgroup sizes in compute shaders");
        if (required < device->sizes.minSubgroupSize || required > device->sizes.maxSubgroupSize)
            count += lacks(name, "the subgroup size");
        if (INVOCATIONS > (uint64_t)required * device->sizes.maxComputeWorkgroupSubgroups)
            count += lacks(name, "so many subgroups in a workgroup");
    } else if ((ALLOW_VARYING_SIZE || SPIRV_VERSION >= 0x10600) && device->sizes.minSubgroupSize != 0) {
        smallest = device->sizes.minSubgroupSize;
    }
    if (smallest < MIN_SUBGROUP_SIZE)
        count += lacks(name, "subgroups that are large enough");

    const uint32_t *size = limits->maxComputeWorkGroupSize, *groups = limits->maxComputeWorkGroupCount;
    if (INVOCATIONS > limits->maxComputeWorkGroupInvocations || WORKGROUP_X > size[0] || WORKGROUP_Y > size[1] ||
        WORKGROUP_Z > size[2] || GROUPS_X > groups[0] || GROUPS_Y > groups[1] || GROUPS_Z > groups[2])
        count += lacks(name, "workgroups of this size or number");
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
        if (strstr(device.properties.deviceName, part) != NULL && missing(&device) == 0 && find_compute_family(&device)) {
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

enum { INPUTS, UNIFORMS, MAP, LOG, ARRAYS, BINDINGS };

struct work {
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    struct buffer buffers[BINDINGS];
    VkDescriptorSet set;
    VkPipeline pipeline;
    VkCommandBuffer commands;
    VkFence fence;
#if DESCRIPTOR_ARRAYS
    VkImage images[RESOURCES];
#endif
};

static const VkDescriptorType binding_types[BINDINGS] = {
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER};

static void create_layout(const struct device *device, struct work *work)
{
    VkDescriptorSetLayoutBinding bindings[BINDINGS + DESCRIPTOR_ARRAYS];
    for (uint32_t i = 0; i < BINDINGS; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i, .descriptorType = binding_types[i], .descriptorCount = 1, .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
#if DESCRIPTOR_ARRAYS
    for (uint32_t i = 0; i < DESCRIPTOR_ARRAYS; i++)
        bindings[BINDINGS + i] = (VkDescriptorSetLayoutBinding){
            .binding = array_bindings[i],
            .descriptorType = (VkDescriptorType)array_types[i],
            .descriptorCount = RESOURCES,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
#endif
    VkDescriptorSetLayoutCreateInfo set_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = BINDINGS + DESCRIPTOR_ARRAYS,
        .pBindings = bindings};
    CHECK(vkCreateDescriptorSetLayout(device->handle, &set_info, NULL, &work->set_layout));
    VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = PUSH_WORDS * 4};
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &work->set_layout,
        .pushConstantRangeCount = PUSH_WORDS != 0,
        .pPushConstantRanges = &range};
    CHECK(vkCreatePipelineLayout(device->handle, &layout, NULL, &work->layout));
}

static void create_pipeline(const struct device *device, struct work *work)
{
    VkShaderModuleCreateInfo module_info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof spirv, .pCode = spirv};
    VkShaderModule module;
    CHECK_SHADER(vkCreateShaderModule(device->handle, &module_info, NULL, &module));
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
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = DISABLE_OPTIMIZATION ? VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT : 0,
        .stage =
            {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
             .pNext = REQUIRED_SUBGROUP_SIZE != 0 ? &size : NULL,
             .flags = flags,
             .stage = VK_SHADER_STAGE_COMPUTE_BIT,
             .module = module,
             .pName = "main",
             .pSpecializationInfo = &constants},
        .layout = work->layout};
    CHECK_SHADER(vkCreateComputePipelines(device->handle, VK_NULL_HANDLE, 1, &info, NULL, &work->pipeline));
}

static void create_buffers(const struct device *device, struct work *work)
{
    VkBufferUsageFlags storage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    work->buffers[INPUTS] = create_buffer(device, storage, INPUT_WORDS + 1, inputs);
    work->buffers[UNIFORMS] = create_buffer(device, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, UNIFORM_WORDS + 1, uniforms);
    work->buffers[MAP] = create_buffer(device, storage, (size_t)ALL * MAP_WORDS, NULL);
    work->buffers[LOG] = create_buffer(device, storage, (size_t)ALL * LOG_STRIDE, NULL);
    work->buffers[ARRAYS] = create_buffer(device, storage, ARRAY_WORDS + 1, NULL);
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
        sizes[i] = (VkDescriptorPoolSize){.type = binding_types[i], .descriptorCount = 1};
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
            .descriptorType = binding_types[i],
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
        commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
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
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, work->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, work->layout, 0, 1, &work->set, 0, NULL);
    if (PUSH_WORDS != 0)
        vkCmdPushConstants(commands, work->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, PUSH_WORDS * 4, push_constants);
    vkCmdDispatch(commands, GROUPS_X, GROUPS_Y, GROUPS_Z);
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(
        commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
    CHECK(vkEndCommandBuffer(commands));
}

static void dispatch(const struct device *device, struct work *work)
{
    memset(work->buffers[MAP].words, 0, work->buffers[MAP].bytes);
    memset(work->buffers[LOG].words, 0, work->buffers[LOG].bytes);
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &work->commands};
    CHECK_SHADER(vkQueueSubmit(device->queue, 1, &submit, work->fence));
    VkResult result = vkWaitForFences(device->handle, 1, &work->fence, VK_TRUE, TIME_LIMIT_SECONDS * 1000000000ull);
    if (result == VK_TIMEOUT) {
        printf("FAILED: the dispatch did not end within %d seconds\n", TIME_LIMIT_SECONDS);
        fflush(stdout);
        _Exit(FAILED); /* without the driver's exit handlers, which would wait for it */
    }
    if (result != VK_SUCCESS)
        fail_shader("vkWaitForFences", result);
    CHECK(vkResetFences(device->handle, 1, &work->fence));
}

/* ---- the rules of the lane map ---- */

static int broken_rules;

static void broken(const char *rule, uint32_t workgroup, uint32_t invocation, uint32_t seen)
{
    if (broken_rules++ < 16)
        printf("BROKEN RULE: %s (workgroup %u, invocation %u: %u)\n", rule, (unsigned)workgroup, (unsigned)invocation,
            (unsigned)seen);
}

static int is_allowed_size(const struct device *device, uint32_t size)
{
    if (REQUIRED_SUBGROUP_SIZE != 0)
        return size == REQUIRED_SUBGROUP_SIZE;
    if ((!ALLOW_VARYING_SIZE && SPIRV_VERSION < 0x10600) || device->sizes.maxSubgroupSize == 0)
        return size == device->subgroup.subgroupSize;
    return size >= device->sizes.minSubgroupSize && size <= device->sizes.maxSubgroupSize;
}

/* The lanes of the invocations with one token: one subgroup. Gives their number. */
static uint32_t check_subgroup(const uint32_t *map, uint32_t workgroup, uint32_t token)
{
    uint32_t seen[4] = {0, 0, 0, 0}, members = 0, lowest = 0, has_owner = 0;
    for (uint32_t i = 0; i < INVOCATIONS; i++) {
        const uint32_t *record = map + i * MAP_WORDS;
        uint32_t lane = record[LANE];
        if (record[TOKEN] != token)
            continue;
        if (lane >= record[SUBGROUP_SIZE] || lane >= 128 || (seen[lane / 32] >> lane % 32 & 1) != 0) {
            broken("gl_SubgroupInvocationID is below gl_SubgroupSize and differs between lanes", workgroup, i, lane);
            return 0;
        }
        seen[lane / 32] |= 1u << lane % 32;
        has_owner |= i == token;
        if (members++ == 0 || lane < map[lowest * MAP_WORDS + LANE])
            lowest = i;
    }
    if (!has_owner || lowest != token)
        broken("subgroupBroadcastFirst at entry gives the value of the subgroup's lowest lane", workgroup, lowest, token);
    for (uint32_t i = 0; i < INVOCATIONS; i++)
        if (map[i * MAP_WORDS + TOKEN] == token && memcmp(map + i * MAP_WORDS + BALLOT, seen, sizeof seen) != 0)
            broken("subgroupBallot(true) at entry is the set of the subgroup's lanes", workgroup, i, map[i * MAP_WORDS + BALLOT]);
    return members;
}

static void check_workgroup(const struct device *device, const uint32_t *map, uint32_t workgroup, uint32_t dispatch_size)
{
    uint32_t subgroups = 0;
    int all_full = 1;
    for (uint32_t i = 0; i < INVOCATIONS; i++) {
        const uint32_t *record = map + i * MAP_WORDS;
        uint32_t size = record[SUBGROUP_SIZE];
        if (record[WRITTEN] != WAS_WRITTEN) {
            broken("every invocation executes the shader", workgroup, i, record[WRITTEN]);
            return;
        }
        if (!is_allowed_size(device, size) || size != dispatch_size || (size & (size - 1)) != 0 || size > 128)
            broken("gl_SubgroupSize is the size asked for, one for the whole dispatch", workgroup, i, size);
        if (record[SUBGROUP_ID] >= record[NUM_SUBGROUPS])
            broken("gl_SubgroupID is below gl_NumSubgroups", workgroup, i, record[SUBGROUP_ID]);
        if (record[NUM_SUBGROUPS] != map[NUM_SUBGROUPS])
            broken("gl_NumSubgroups is one number in a workgroup", workgroup, i, record[NUM_SUBGROUPS]);
        int is_first = 1;
        for (uint32_t j = 0; j < i; j++) {
            const uint32_t *other = map + j * MAP_WORDS;
            int same = other[TOKEN] == record[TOKEN];
            is_first &= !same;
            if (same != (other[SUBGROUP_ID] == record[SUBGROUP_ID])) {
                broken("gl_SubgroupID is one number in each subgroup and differs between subgroups", workgroup, i,
                    record[SUBGROUP_ID]);
                break;
            }
        }
        if (!is_first)
            continue;
        subgroups++;
        uint32_t members = check_subgroup(map, workgroup, record[TOKEN]);
        int full = (REQUIRE_FULL_SUBGROUPS || SPIRV_VERSION >= 0x10600) && WORKGROUP_X % size == 0;
        all_full &= full;
        if (full && members != size)
            broken("subgroups are full", workgroup, i, members);
    }
    if (map[NUM_SUBGROUPS] < subgroups)
        broken("gl_NumSubgroups is not smaller than the number of subgroups", workgroup, 0, map[NUM_SUBGROUPS]);
    if (all_full && map[NUM_SUBGROUPS] > subgroups)
        broken("gl_NumSubgroups is the number of subgroups where all are full", workgroup, 0, map[NUM_SUBGROUPS]);
}

/* True if every rule that the specifications have about lanes and subgroups is kept. */
static int check_map(const struct device *device, const uint32_t *map)
{
    broken_rules = 0;
    for (uint32_t w = 0; w < WORKGROUPS; w++)
        check_workgroup(device, map + (size_t)w * INVOCATIONS * MAP_WORDS, w, map[SUBGROUP_SIZE]);
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
        uint32_t workgroup = first / INVOCATIONS;
        const struct site *site = wrongs[first].words > 0 ? find_site(expected_log[log_start[first] + wrongs[first].at]) : NULL;
        printf("FAILED: %u of %u invocations go wrong; first in workgroup %u", (unsigned)count, (unsigned)ALL, (unsigned)workgroup);
        if (site != NULL)
            printf(" at step %u, site %u, line %u of the shader:\n    %s\n", (unsigned)first_step + 1, (unsigned)site->id,
                (unsigned)site->line, site->source);
        else
            printf(" after the last step\n");
        printf("invocation group lane  expected (the site, then its values) -> found\n");
        for (uint32_t i = workgroup * INVOCATIONS; i < (workgroup + 1) * INVOCATIONS; i++)
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

/* Judges one dispatch. */
static int judge(const struct device *device, const struct work *work)
{
    const uint32_t *map = work->buffers[MAP].words, *logs = work->buffers[LOG].words;
    int verdict = check_map(device, map) ? PASSED : FAILED;
    if (!HAS_EXPECTED_VALUES)
        return verdict;
    if (memcmp(map, expected_map, sizeof expected_map) != 0) {
        printf("The device places invocations in other lanes or subgroups than the ones that the expected values are for:\n"
               "invocation 0 is in lane %u of a subgroup of %u, expected lane %u of %u. The values are not compared.\n",
            (unsigned)map[LANE], (unsigned)map[SUBGROUP_SIZE], (unsigned)expected_map[LANE], (unsigned)expected_map[SUBGROUP_SIZE]);
        return verdict == PASSED ? CANNOT_RUN : verdict;
    }
    return check_logs(map, logs) && check_relations(map, logs) ? verdict : FAILED;
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

/* Time for the driver's next call; the time limit of the dispatch itself comes first. */
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
    create_pipeline(&device, &work);
    create_buffers(&device, &work);
    create_set(&device, &work);
    record_commands(&device, &work);
    for (int run = 0; run < runs; run++) {
        allow_time();
        dispatch(&device, &work);
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

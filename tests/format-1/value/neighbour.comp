#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 28, local_size_y = 1, local_size_z = 1) in;
layout(set = 0, binding = 0, std430) readonly buffer Inputs { uint input_words[]; };
layout(set = 0, binding = 2, std430) writeonly buffer Map { uint map_words[]; };
layout(set = 0, binding = 3, std430) writeonly buffer Log { uint log_words[]; };

uint invocation;
uint log_base;
uint cursor;
uint entry;

#define LOG1(site, x1) (entry = log_base + (cursor & 15u), cursor += 2u, log_words[entry] = site, log_words[entry + 1u] = uint(x1))

void main() {
    uint lane = gl_SubgroupInvocationID;
    uint subgroup_size = gl_SubgroupSize;
    uint workgroup_index = gl_WorkGroupID.x;
    invocation = workgroup_index * 28u + gl_LocalInvocationIndex;
    log_base = invocation * 48u;
    cursor = 0u;
    uvec4 entry_mask = subgroupBallot(true);
    uint entry_token = subgroupBroadcastFirst(gl_LocalInvocationIndex);
    uint map_base = invocation * 10u;
    map_words[map_base + 0u] = lane;
    map_words[map_base + 1u] = subgroup_size;
    map_words[map_base + 2u] = gl_SubgroupID;
    map_words[map_base + 3u] = gl_NumSubgroups;
    map_words[map_base + 4u] = entry_token;
    map_words[map_base + 5u] = entry_mask.x;
    map_words[map_base + 6u] = entry_mask.y;
    map_words[map_base + 7u] = entry_mask.z;
    map_words[map_base + 8u] = entry_mask.w;
    map_words[map_base + 9u] = 0x74616E67u;

    uint i = 0u;
    do {
        i++;
        if (input_words[invocation] >= 1u) {
            break;
        }
    } while (i < 1u);
    LOG1(1, input_words[invocation]);
    LOG1(2, i);
}

//! Which invocation sits where.

use crate::module::Interface;

/// Where one invocation sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanePosition {
    /// Index of the subgroup in the workgroup, counted from 0 without gaps. It names the subgroup and is not `SubgroupId`.
    pub subgroup: u32,
    /// `SubgroupLocalInvocationId`, below the subgroup size.
    pub lane: u32,
    /// `SubgroupId` as the device reports it.
    pub subgroup_id: u32,
    /// `NumSubgroups` as the device reports it.
    pub num_subgroups: u32,
}

/// Which invocation sits in which subgroup and lane. Any division into subgroups is legal unless full subgroups are asked for (Vulkan,
/// "Subgroups" in the chapter on shaders), so it is an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneMap {
    /// `SubgroupSize`: a power of two from 1 to 128.
    pub subgroup_size: u32,
    /// For every workgroup, by its linear index: the place of each invocation, by local invocation index. With one element it holds for every
    /// workgroup.
    pub workgroups: Vec<Vec<LanePosition>>,
}

impl LaneMap {
    /// Subgroups of consecutive local invocation indices, for every workgroup of `invocations`.
    pub fn linear(invocations: u32, subgroup_size: u32) -> LaneMap {
        let size = subgroup_size.max(1);
        let num_subgroups = invocations.div_ceil(size);
        let place = |index: u32| LanePosition {
            subgroup: index / size,
            lane: index % size,
            subgroup_id: index / size,
            num_subgroups,
        };
        LaneMap { subgroup_size, workgroups: vec![(0..invocations).map(place).collect()] }
    }

    /// What an entry point allows: subgroups of consecutive local invocation indices, or quad by quad if the quads are of local invocation ids
    /// (Vulkan, Shaders, Quad: "each invocation in a quad scope instance is formed of invocations with adjacent local invocation IDs").
    pub fn of(interface: &Interface, subgroup_size: u32) -> LaneMap {
        let [width, height, depth] = interface.workgroup_size;
        let by_index = LaneMap::linear(width.saturating_mul(height).saturating_mul(depth), subgroup_size);
        if !interface.quads_of_ids || width % 2 == 1 || height % 2 == 1 {
            return by_index;
        }
        let mut places = by_index.workgroups.into_iter().flatten();
        let mut workgroup = vec![None; width as usize * height as usize * depth as usize];
        for z in 0..depth {
            for (y, x) in (0..height).step_by(2).flat_map(|y| (0..width).step_by(2).map(move |x| (y, x))) {
                for (y, x) in [(y, x), (y, x + 1), (y + 1, x), (y + 1, x + 1)] {
                    workgroup[((z * height + y) * width + x) as usize] = places.next();
                }
            }
        }
        LaneMap { subgroup_size, workgroups: vec![workgroup.into_iter().flatten().collect()] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Tier;

    #[test]
    fn quads_of_local_ids_follow_each_other() {
        let interface = |workgroup_size, quads_of_ids| Interface {
            entry: "main".into(),
            stage: rspirv::spirv::ExecutionModel::GLCompute,
            workgroup_size,
            quads_of_ids,
            quad_derivatives: false,
            inputs: Vec::new(),
            tier: Tier::Plain,
            bindings: Vec::new(),
            push_size: 0,
            spec_constants: Vec::new(),
        };
        let lanes = |size, quads_of_ids| -> Vec<u32> {
            let map = LaneMap::of(&interface(size, quads_of_ids), 8);
            map.workgroups[0].iter().map(|place| 8 * place.subgroup + place.lane).collect()
        };
        for (size, quads_of_ids, expected) in [
            ([4, 2, 1], true, &[0, 1, 4, 5, 2, 3, 6, 7][..]),
            ([2, 4, 1], true, &[0, 1, 2, 3, 4, 5, 6, 7]),
            ([2, 2, 2], true, &[0, 1, 2, 3, 4, 5, 6, 7]),
            ([4, 4, 1], true, &[0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]),
            ([4, 2, 1], false, &[0, 1, 2, 3, 4, 5, 6, 7]),
            // No quads: the module is not valid.
            ([3, 1, 1], true, &[0, 1, 2]),
        ] {
            assert_eq!(lanes(size, quads_of_ids), expected, "{size:?}");
        }
    }
}

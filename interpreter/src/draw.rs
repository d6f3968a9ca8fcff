//! What a shader without workgroups is run for: the fragments and helper invocations of primitives, or vertices, patches and primitives before rasterisation.

use std::collections::BTreeMap;

use rspirv::spirv::ExecutionModel;

use crate::lane_map::{LaneMap, LanePosition};
use crate::module::Interface;

/// The invocations of one draw, in the order of the lane map's only workgroup: fragments of a fragment shader, items before rasterisation. Empty for shaders with
/// workgroups.
///
/// In fragment shaders lanes 4q to 4q+3 of a subgroup are a quad: left above, right above, left below, right below (Vulkan, "Quad"). All four are there, and are of one
/// primitive and sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draw {
    /// What is drawn.
    pub primitives: Vec<Primitive>,
    /// Fragments, and the helper invocations beside them.
    pub fragments: Vec<Fragment>,
    /// Invocations of a vertex, tessellation or geometry shader.
    pub items: Vec<Item>,
}

/// A primitive in a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Primitive {
    /// `PrimitiveId`
    pub id: u32,
    /// `Layer`
    pub layer: u32,
    /// The words of its flat inputs by their location: up to four components of 32 bits.
    pub flat: BTreeMap<u32, [u32; 4]>,
}

/// An invocation of a fragment shader.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fragment {
    /// Index in [`Draw::primitives`].
    pub primitive: u32,
    /// `FragCoord`: x and y in the framebuffer, z, and 1/w.
    pub coord: [f32; 4],
    /// `SampleId`
    pub sample: u32,
    /// It begins as a helper invocation (`HelperInvocation`).
    pub helper: bool,
}

/// An invocation before rasterisation, by what built-in variables its stage has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Item {
    /// `VertexIndex`
    pub vertex: u32,
    /// `InstanceIndex`
    pub instance: u32,
    /// `InvocationId`, of an output vertex of a patch or an invocation of a geometry shader.
    pub invocation: u32,
    /// `PrimitiveId`
    pub primitive: u32,
    /// `TessCoord`
    pub tess_coord: [f32; 3],
}

impl Draw {
    /// How many invocations it has.
    pub fn len(&self) -> usize {
        self.fragments.len() + self.items.len()
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What an entry point can be run for: a primitive that covers a framebuffer of these sides, with these flat inputs, zeros where there is none; before
    /// rasterisation so many invocations of each of so many items. Empty for a shader with workgroups.
    pub fn of(interface: &Interface, [width, height]: [u32; 2], flat: &BTreeMap<u32, [u32; 4]>) -> Draw {
        if interface.stage == ExecutionModel::Fragment {
            let given = |&location: &u32| (location, flat.get(&location).copied().unwrap_or_default());
            let flat = interface.inputs.iter().map(given).collect();
            return Draw::covering([width, height], Primitive { flat, ..Primitive::default() });
        }
        let item = |[x, y]: [u32; 2]| Item {
            vertex: x,
            instance: y,
            invocation: x,
            primitive: y,
            tess_coord: [x as f32 / width.saturating_sub(1).max(1) as f32, 0.0, 0.0],
        };
        let all = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
        let items = if interface.is_of_draw() { all.map(item).collect() } else { Vec::new() };
        Draw { items, ..Draw::default() }
    }

    /// One primitive that covers a framebuffer of a layer with one sample a pixel. Where a side is odd the last quads have helper invocations.
    pub fn covering([width, height]: [u32; 2], primitive: Primitive) -> Draw {
        let quads = (0..height).step_by(2).flat_map(|y| (0..width).step_by(2).map(move |x| [x, y]));
        let pixels = quads.flat_map(|[x, y]| [[x, y], [x + 1, y], [x, y + 1], [x + 1, y + 1]]);
        let fragment = |[x, y]: [u32; 2]| Fragment {
            coord: [x as f32 + 0.5, y as f32 + 0.5, 0.0, 1.0],
            helper: x >= width || y >= height,
            ..Fragment::default()
        };
        Draw { primitives: vec![primitive], fragments: pixels.map(fragment).collect(), items: Vec::new() }
    }

    /// Subgroups of consecutive invocations. Shaders without workgroups have no `SubgroupId`.
    pub fn linear(&self, subgroup_size: u32) -> LaneMap {
        LaneMap::linear(self.len() as u32, subgroup_size)
    }

    /// What is wrong with the draw for a shader with these flat inputs, or with where its quads sit; `None` if nothing is.
    pub(crate) fn fault(&self, stage: ExecutionModel, inputs: &[u32], places: &[LanePosition]) -> Option<String> {
        let Draw { primitives, fragments, items } = self;
        let (own, others) = match stage {
            ExecutionModel::Fragment => (fragments.len(), items.len()),
            _ => (items.len(), fragments.len()),
        };
        if others > 0 {
            return Some(format!("a draw of another stage than {stage:?}"));
        }
        if own != places.len() {
            return Some(format!("{own} invocations for a lane map of {}", places.len()));
        }
        let missing = |primitive: &Primitive| inputs.iter().find(|at| !primitive.flat.contains_key(*at)).copied();
        if let Some(location) = primitives.iter().find_map(missing) {
            return Some(format!("a primitive without a value for the input at location {location}"));
        }
        if fragments.iter().any(|fragment| fragment.primitive as usize >= primitives.len()) {
            return Some("a fragment of a primitive that is not there".into());
        }
        let mut quads: BTreeMap<(u32, u32), Vec<Fragment>> = BTreeMap::new();
        for (fragment, place) in fragments.iter().zip(places) {
            quads.entry((place.subgroup, place.lane / 4)).or_default().push(*fragment);
        }
        let is_one = |quad: &Vec<Fragment>| {
            quad.len() == 4 && quad.iter().all(|x| (x.primitive, x.sample) == (quad[0].primitive, quad[0].sample))
        };
        let (subgroup, quad) = quads.iter().find(|(_, quad)| !is_one(quad))?.0;
        Some(format!("quad {quad} of subgroup {subgroup} has not four invocations of one primitive and sample"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quads_of_a_framebuffer() {
        let draw = Draw::covering([3, 1], Primitive::default());
        let helpers: String = draw.fragments.iter().map(|of| if of.helper { 'h' } else { '#' }).collect();
        assert_eq!(helpers, "##hh#hhh");
        assert_eq!(draw.fragments[4].coord, [2.5, 0.5, 0.0, 1.0]);
        let places = |size| draw.linear(size).workgroups.remove(0);
        assert_eq!(draw.fault(ExecutionModel::Fragment, &[], &places(8)), None);
        for (faulty, inputs, places, expected) in [
            (draw.clone(), &[3][..], places(8), "a primitive without a value for the input at location 3"),
            (draw.clone(), &[], places(2), "quad 0 of subgroup 0 has not four invocations of one primitive and sample"),
            (draw.clone(), &[], Vec::new(), "8 invocations for a lane map of 0"),
            (
                Draw { primitives: Vec::new(), ..draw.clone() },
                &[],
                places(8),
                "a fragment of a primitive that is not there",
            ),
        ] {
            assert_eq!(faulty.fault(ExecutionModel::Fragment, inputs, &places).as_deref(), Some(expected));
        }
    }
}

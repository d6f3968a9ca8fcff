//! What starts the invocations of a stage.

use serde::{Deserialize, Serialize};

use super::draw::Draw;

/// What starts the invocations of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Launch {
    /// A dispatch of workgroups.
    Workgroups(Workgroups),
    /// A draw of triangles.
    Draw(Draw),
    /// A draw for a stage before rasterisation.
    Items(Items),
}

impl Launch {
    /// A dispatch of so many workgroups of this size.
    pub const fn workgroups(size: [u32; 3], count: [u32; 3]) -> Launch {
        Launch::Workgroups(Workgroups { size, count, ..Workgroups::SINGLE })
    }
}

/// A draw whose invocations come before rasterisation, which does not take place: instances of vertices, patches or primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Items {
    /// Invocations of each item: the vertices of an instance or of a patch, the invocations of a primitive.
    pub size: u32,
    /// Items: instances, patches, primitives.
    pub count: u32,
}

impl Items {
    /// An implementation may execute the shader more than once for one vertex or primitive (Vulkan, Vertex Shader Execution: "at least once").
    /// So many executions of each have a place of their own; launches with more are not judged.
    pub const EXECUTIONS: u32 = 4;

    /// Invocations of an item, items, and executions of each, in which invocations are numbered.
    pub const fn grid(&self) -> [u32; 3] {
        [self.size, self.count, Items::EXECUTIONS]
    }

    /// Invocations of all items, each once. Saturates.
    pub const fn identities(&self) -> u32 {
        self.size.saturating_mul(self.count)
    }
}

/// Workgroups, in x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workgroups {
    /// Invocations of a workgroup (`LocalSize`).
    pub size: [u32; 3],
    /// Workgroups of the dispatch.
    pub count: [u32; 3],
    /// If the size is given by specialisation constants when the pipeline is made: the one that the module has by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_size: Option<[u32; 3]>,
    /// How the invocations form quads, if the module says so (SPV_KHR_compute_shader_derivatives). Otherwise only the lanes say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derivative_group: Option<DerivativeGroup>,
    /// Task shaders: the mesh workgroups that each workgroup emits; each of them records the payload. With none there is no payload.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub meshes: u32,
    /// Mesh shaders: a task shader emits the workgroups, one of its workgroups those with one x, which the payload says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_task: bool,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// How the invocations of a workgroup form quads (Vulkan, Shaders, Quad).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DerivativeGroup {
    /// `DerivativeGroupQuadsKHR`: squares of two by two local invocation ids, row by row.
    Quads,
    /// `DerivativeGroupLinearKHR`: four local invocation indices in a row.
    Linear,
}

impl DerivativeGroup {
    /// Every form, squares first.
    pub const ALL: [DerivativeGroup; 2] = [DerivativeGroup::Quads, DerivativeGroup::Linear];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            DerivativeGroup::Quads => "quads",
            DerivativeGroup::Linear => "linear",
        }
    }

    /// True if workgroups of this size are whole quads (VUID-StandaloneSpirv-DerivativeGroupQuadsKHR-10151 and
    /// -DerivativeGroupLinearKHR-10152).
    pub fn divides(self, [x, y, z]: [u32; 3]) -> bool {
        match self {
            DerivativeGroup::Quads => x.is_multiple_of(2) && y.is_multiple_of(2),
            DerivativeGroup::Linear => product([x % 4, y % 4, z % 4]).is_multiple_of(4),
        }
    }
}

impl Workgroups {
    /// Words of the payload of a task shader that emits the workgroups of a mesh shader.
    pub const PAYLOAD_WORDS: u32 = 64;

    /// One workgroup of one invocation.
    pub(crate) const SINGLE: Workgroups = Workgroups {
        size: [1; 3],
        count: [1; 3],
        default_size: None,
        derivative_group: None,
        meshes: 0,
        by_task: false,
    };

    /// The quad of the invocation with this `LocalInvocationIndex`, of those of its workgroup, and which of the quad it is; `None` if the module says
    /// nothing about quads.
    pub fn quad(&self, index: u32) -> Option<(u32, u32)> {
        let [width, height, _] = self.size;
        Some(match self.derivative_group? {
            DerivativeGroup::Quads => {
                let [x, y, z] = self.position(index);
                (x / 2 + width / 2 * (y / 2 + height / 2 * z), x % 2 + y % 2 * 2)
            }
            DerivativeGroup::Linear => (index / 4, index % 4),
        })
    }

    /// `LocalInvocationId` of the invocation with this `LocalInvocationIndex`.
    pub const fn position(&self, index: u32) -> [u32; 3] {
        let [x, y, _] = self.size;
        [index % x, index / x % y, index / x / y]
    }
}

/// Saturates, for launches that are too large to be valid.
pub(super) fn product(sides: [u32; 3]) -> u32 {
    sides.iter().fold(1, |n: u32, &side| n.saturating_mul(side))
}

//! Launch: fewer invocations, fewer demands.

use tangle_program::case::{
    Case, Draw, EntryPoint, FloatMode, GroupId, InvocationId, Items, Launch, Slice, SpirvVersion, Stage, SubgroupSize,
    Tier,
};
use tangle_program::types::Scalar;

use super::candidates::{Candidates, each, smaller};
use super::control;
use crate::access::stmts;

/// The most workgroups of which each is tried alone.
const ALONE: u32 = 8;

/// One workgroup alone, then the first half of them in each dimension.
pub fn groups(case: &Case) -> Candidates<'_> {
    match &case.entry_point.launch {
        Launch::Workgroups(_) => {}
        Launch::Draw(_) => return draws(case),
        Launch::Items(items) => return item_launches(case, *items),
    }
    let count = case.entry_point.groups();
    let alone = (0..count.min(ALONE)).filter(|_| count > 1).map(|first| ([1; 3], first));
    let halves = (0..3).filter_map(|d| {
        let mut groups = case.entry_point.workgroups().count;
        groups[d] = groups[d].div_ceil(2);
        (groups != case.entry_point.workgroups().count).then_some((groups, 0))
    });
    each(case, alone.chain(halves).collect(), |case, (groups, first)| {
        let old = case.entry_point.clone();
        case.entry_point.workgroups_mut().count = groups;
        let [x, y, _] = old.workgroups().count;
        cut(case, &old, |workgroup, local| {
            let [gx, gy, gz] = coordinates(workgroup, groups);
            (first + gx + x * (gy + y * gz), local)
        });
    })
}

/// One triangle over a small framebuffer; one layer, one sample, then half as many; each triangle alone; a smaller framebuffer; no quad modes.
fn draws(case: &Case) -> Candidates<'_> {
    let Some(now) = case.entry_point.draw() else { return each(case, Vec::<()>::new(), |_, ()| {}) };
    let (width, height) = (now.width, now.height);
    let whole = |width: u32, height: u32| Draw {
        width,
        height,
        triangles: vec![[[0, 0], [2 * width, 0], [0, 2 * height]]],
        ..now.clone()
    };
    let sizes = [[1, 1], [2, 1], [2, 2], [4, 2], [4, 4], [width, height]];
    let mut edits: Vec<Draw> = sizes.into_iter().map(|[w, h]| whole(w.min(width), h.min(height))).collect();
    edits.extend(
        [1, now.layers / 2, now.layers.saturating_sub(1)].map(|layers| Draw { layers: layers.max(1), ..now.clone() }),
    );
    edits.extend([1, now.samples / 2].map(|samples| Draw { samples: samples.max(1), ..now.clone() }));
    if now.triangles.len() > 1 {
        edits.extend(now.triangles.iter().map(|&triangle| Draw { triangles: vec![triangle], ..now.clone() }));
    }
    for (width, height) in
        [(width.div_ceil(2), height), (width, height.div_ceil(2)), (width - 1, height), (width, height - 1)]
    {
        if width > 0 && height > 0 {
            let cut = |[x, y]: [u32; 2]| [x.min(2 * width), y.min(2 * height)];
            let triangles = now.triangles.iter().map(|corners| corners.map(cut)).collect();
            edits.push(Draw { width, height, triangles, ..now.clone() });
        }
    }
    edits.push(Draw { full_quads: false, ..now.clone() });
    edits.push(Draw { quad_derivatives: false, ..now.clone() });
    edits.retain(|draw| draw != now);
    each(case, edits, move |case, draw| {
        let old = case.entry_point.clone();
        let grid = old.workgroups().size;
        case.entry_point.launch = Launch::Draw(draw.clone());
        let size = case.entry_point.workgroups().size;
        cut(case, &old, |_, index| {
            let [x, y, depth] = coordinates(index, size);
            let depth = old_depth(now, draw.slice(depth));
            (0, x.min(grid[0] - 1) + grid[0] * (y.min(grid[1] - 1) + grid[1] * depth.min(grid[2] - 1)))
        });
    })
}

/// The most statements of a program of which parts and draws are changed together.
const FEW: usize = 4;

/// A part of an `if`, switch or loop in its place, in another draw: a condition may be there only for the helpers that this draw has.
pub fn parts_in_draws(case: &Case) -> Candidates<'_> {
    if case.entry_point.draw().is_none() || stmts(&case.program).len() > FEW {
        return Box::new(std::iter::empty());
    }
    smaller(case, control::unwrap(case).flat_map(|part| draws(&part).collect::<Vec<_>>()))
}

/// Where a slice is in the grid of a draw that has as many triangles, layers and samples, or more.
fn old_depth(old: &Draw, Slice { triangle, layer, sample }: Slice) -> u32 {
    (layer * old.triangles.len() as u32 + triangle) * old.samples + sample
}

/// A compute shader of as many invocations; one item, then half as many; 1, 2, 3, 4, 5, 8, 9, 16, 17 and so on invocations of each, then one less.
fn item_launches(case: &Case, now: Items) -> Candidates<'_> {
    let sizes = [1].into_iter().chain((1..10).flat_map(|log| [1 << log, (1 << log) + 1]));
    let mut edits: Vec<Items> =
        [1, now.count / 2, now.count.saturating_sub(1)].map(|count| Items { count, ..now }).into();
    edits.extend(sizes.chain([now.size.saturating_sub(1)]).map(|size| Items { size, ..now }));
    edits.retain(|items| items.size > 0 && items.count > 0 && items.size <= now.size && *items != now);
    edits.dedup();
    let edits = std::iter::once(None).chain(edits.into_iter().map(Some)).collect();
    each(case, edits, move |case, items| {
        let old = case.entry_point.clone();
        match items {
            Some(items) => case.entry_point.launch = Launch::Items(items),
            None => {
                case.entry_point.stage = Stage::Compute;
                case.entry_point.launch = Launch::workgroups([now.size, now.count, 1], [1; 3]);
            }
        }
        let size = case.entry_point.workgroups().size;
        cut(case, &old, |_, index| {
            let [x, y, execution] = coordinates(index, size);
            (0, x + now.size * (y + now.count * execution))
        });
    })
}

fn coordinates(index: u32, [x, y, _]: [u32; 3]) -> [u32; 3] {
    [index % x, index / x % y, index / x / y]
}

/// Gives every invocation the input words of an old one: `from` finds it, for a group and the number in it.
fn cut(case: &mut Case, old: &EntryPoint, from: impl Fn(u32, u32) -> (u32, u32)) {
    let now = &case.entry_point;
    for words in &mut case.data.inputs {
        let word = |ordinal| {
            let InvocationId { group, index } = now.invocation(ordinal);
            let (group, index) = from(group.0, index);
            words.get(old.ordinal(InvocationId { group: GroupId(group), index })).copied().unwrap_or(0)
        };
        *words = (0..now.invocations() as usize).map(word).collect();
    }
}

/// Which of the old invocations' words a smaller workgroup takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Take {
    First,
    Last,
}

/// In one dimension: 1, 2, 3, 4, 5, 8, 9, 16, 17 and so on (full subgroups, and one lane more), then the same number as now; then
/// every dimension 1, its half, one less. If there are inputs, each with the words of the first invocations and with those of the last.
pub fn workgroup(case: &Case) -> Candidates<'_> {
    if !case.entry_point.stage.has_workgroups() {
        return each(case, Vec::<()>::new(), |_, ()| {});
    }
    let now = case.entry_point.workgroups().size;
    let count = case.entry_point.group_size();
    let mut shapes: Vec<[u32; 3]> = Vec::new();
    let sizes = [1].into_iter().chain((1..10).flat_map(|log| [1 << log, (1 << log) + 1]));
    shapes.extend(sizes.filter(|&n| n < count).map(|n| [n, 1, 1]));
    shapes.push([count, 1, 1]);
    for d in 0..3 {
        for n in [1, now[d] / 2, now[d].saturating_sub(1)] {
            let mut shape = now;
            shape[d] = n;
            if n > 0 && n < now[d] {
                shapes.push(shape);
            }
        }
    }
    shapes.retain(|shape| *shape != now);
    let takes: &[Take] = if case.data.inputs.is_empty() { &[Take::First] } else { &[Take::First, Take::Last] };
    let edits = shapes.into_iter().flat_map(|shape| takes.iter().map(move |take| (shape, *take)));
    each(case, edits.collect(), |case, (shape, take)| {
        let old = case.entry_point.clone();
        case.entry_point.workgroups_mut().size = shape;
        let [x, y, z] = old.workgroups().size;
        let is_box = shape[0] <= x && shape[1] <= y && shape[2] <= z;
        let skipped = match take {
            Take::First => [0; 4],
            Take::Last if is_box => [x - shape[0], y - shape[1], z - shape[2], 0],
            Take::Last => [0, 0, 0, old.group_size() - case.entry_point.group_size()],
        };
        cut(case, &old, |workgroup, local| {
            let [lx, ly, lz] = coordinates(local, shape);
            let [sx, sy, sz, s] = skipped;
            // What is no part of the old box takes the old words in a row.
            (workgroup, if is_box { lx + sx + x * (ly + sy + y * (lz + sz)) } else { local + s })
        });
    })
}

/// Asks for less: every demand alone.
pub fn demands(case: &Case) -> Candidates<'_> {
    let mut edits: Vec<Demand> = Vec::new();
    edits.extend([Demand::FullSubgroups, Demand::PlainWorkgroup, Demand::DerivativeGroup]);
    edits.extend([Demand::Meshes(0), Demand::Meshes(1), Demand::ByTask]);
    edits.extend([SubgroupSize::Default, SubgroupSize::Varying].map(Demand::Size));
    edits.extend(case.entry_point.float_controls.iter().map(|(mode, scalar)| Demand::FloatControl(mode, scalar)));
    edits.extend(SpirvVersion::ALL.map(Demand::Spirv));
    edits.extend(Tier::ALL.map(Demand::Tier));
    each(case, edits, |case, demand| match demand {
        Demand::FullSubgroups => case.entry_point.full_subgroups = false,
        Demand::PlainWorkgroup => {
            if let Launch::Workgroups(workgroups) = &mut case.entry_point.launch {
                workgroups.default_size = None;
            }
        }
        Demand::DerivativeGroup => {
            if let Launch::Workgroups(workgroups) = &mut case.entry_point.launch {
                workgroups.derivative_group = None;
            }
        }
        Demand::Meshes(meshes) => {
            if let Launch::Workgroups(workgroups) = &mut case.entry_point.launch {
                workgroups.meshes = workgroups.meshes.min(meshes);
            }
        }
        Demand::ByTask => {
            if let Launch::Workgroups(workgroups) = &mut case.entry_point.launch {
                workgroups.by_task = false;
            }
        }
        Demand::FloatControl(mode, scalar) => {
            case.entry_point.float_controls = case.entry_point.float_controls.without(mode, scalar);
        }
        Demand::Size(size) => case.entry_point.subgroup_size = size,
        Demand::Spirv(version) => case.entry_point.spirv = version,
        Demand::Tier(tier) => case.tier = tier,
    })
}

#[derive(Clone, Copy, Debug)]
enum Demand {
    FullSubgroups,
    PlainWorkgroup,
    DerivativeGroup,
    Meshes(u32),
    ByTask,
    FloatControl(FloatMode, Scalar),
    Size(SubgroupSize),
    Spirv(SpirvVersion),
    Tier(Tier),
}

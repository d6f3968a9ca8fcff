//! The entry point: how a case is launched.

use tangle_program::case::{
    Coverage, DerivativeGroup, Draw as Drawn, EntryPoint, FloatControls, Items, Launch, SpirvVersion, Stage,
    SubgroupSize, Tier, Workgroups,
};
use tangle_program::subgroup::Category;

use super::data::Stream;
use crate::config::Config;
use crate::draw::Draw;
use crate::profile::Profile;

/// Sizes of a workgroup with their weights; 64 first, the plain choice. The largest are rare: each costs as much as many others.
const SIZES: [(u32, u32); 23] = [
    (24, 64),
    (24, 32),
    (16, 16),
    (12, 8),
    (6, 4),
    (2, 1),
    (2, 2),
    (4, 3),
    (4, 5),
    (4, 7),
    (6, 13),
    (6, 20),
    (6, 24),
    (6, 33),
    (6, 40),
    (8, 48),
    (6, 63),
    (4, 96),
    (8, 128),
    (4, 256),
    (1, 512),
    (1, 1000),
    (1, 1024),
];

/// A workgroup of more invocations than these is alone.
const ALONE: u32 = 256;

/// What a module whose workgroup size is specialised has by itself.
const DEFAULT_WORKGROUPS: [[u32; 3]; 4] = [[1, 1, 1], [64, 1, 1], [8, 2, 1], [3, 1, 2]];

/// The entry point of a case.
pub(crate) fn entry_point(draw: &mut Draw<'_>, config: &Config) -> EntryPoint {
    let spirv = draw.pick(&config.spirv);
    let subgroup_size = subgroup_size(draw, config);
    if !config.stage.has_workgroups() {
        let launch = match config.stage {
            Stage::Fragment => Launch::Draw(triangles(draw, config, spirv)),
            _ => Launch::Items(items(draw, config)),
        };
        return EntryPoint {
            stage: config.stage,
            launch,
            subgroup_size,
            full_subgroups: false,
            spirv,
            float_controls: FloatControls::NONE,
        };
    }
    let most = match subgroup_size {
        SubgroupSize::Required(size) => config.max_invocations.min(size.saturating_mul(config.max_workgroup_subgroups)),
        SubgroupSize::Default | SubgroupSize::Varying => config.max_invocations,
    };
    let mut size = workgroup(draw, config, most.max(1));
    let derivative_group = derivative_group(draw, config, subgroup_size, &mut size, most);
    let count = if size.iter().product::<u32>() > ALONE { [1; 3] } else { groups(draw, config) };
    let full_subgroups = full_allowed(config, subgroup_size, size[0]) && draw.percent(60);
    let specialised = spirv < SpirvVersion::V1_6 || config.local_size_id;
    let default_size = (specialised && draw.percent(12)).then(|| draw.pick(&DEFAULT_WORKGROUPS));
    let default_size = default_size.filter(|&size| derivative_group.is_none_or(|group| group.divides(size)));
    let (meshes, by_task) = payload(draw, config);
    let launch = Launch::Workgroups(Workgroups { size, count, default_size, derivative_group, meshes, by_task });
    EntryPoint {
        stage: config.stage,
        launch,
        subgroup_size,
        full_subgroups,
        spirv,
        float_controls: FloatControls::NONE,
    }
}

/// The mesh workgroups that a workgroup of a task shader emits, and whether a task shader emits those of a mesh shader: with a payload, in about half of the
/// cases.
fn payload(draw: &mut Draw<'_>, config: &Config) -> (u32, bool) {
    match config.stage {
        Stage::Task if config.payloads => (draw.weighted(&[(5, 0), (3, 1), (1, 2), (1, 5)]), false),
        Stage::Mesh => (0, config.payloads && draw.percent(40)),
        Stage::Compute
        | Stage::Task
        | Stage::Fragment
        | Stage::Vertex
        | Stage::TessellationControl
        | Stage::TessellationEvaluation
        | Stage::Geometry => (0, false),
    }
}

/// Of so many workgroups in a hundred the module says how they form quads.
const QUADS_PERCENT: u32 = 10;

/// How invocations form quads, with a workgroup of whole ones.
fn derivative_group(
    draw: &mut Draw<'_>,
    config: &Config,
    subgroup_size: SubgroupSize,
    size: &mut [u32; 3],
    most: u32,
) -> Option<DerivativeGroup> {
    let has_quads = !matches!(subgroup_size, SubgroupSize::Required(..4)) && config.min_subgroup_size >= 4;
    if config.derivative_groups.is_empty() || !has_quads || !draw.percent(QUADS_PERCENT) {
        return None;
    }
    let group = draw.pick(&config.derivative_groups);
    let [x, y, z] = *size;
    let [width, height] = [config.max_workgroup[0], config.max_workgroup[1]];
    let whole = match group {
        // One row is folded into two, or more.
        DerivativeGroup::Quads if y == 1 => {
            let rows = draw.pick(&[2, 4, 8]);
            [(x / rows).next_multiple_of(2), rows, z]
        }
        DerivativeGroup::Quads => [x.next_multiple_of(2), y.next_multiple_of(2), z],
        DerivativeGroup::Linear if group.divides(*size) => *size,
        DerivativeGroup::Linear => [x.next_multiple_of(4), y, z],
    };
    let whole = whole.map(|side| side.max(1));
    let fits = whole[0] <= width && whole[1] <= height && whole.iter().product::<u32>() <= most;
    if !fits || !group.divides(whole) {
        return None;
    }
    *size = whole;
    Some(group)
}

/// Sizes of a framebuffer with their weights.
const FRAMEBUFFERS: [(u32, [u32; 2]); 18] = [
    (4, [8, 8]),
    (4, [4, 4]),
    (3, [2, 2]),
    (2, [1, 1]),
    (3, [3, 3]),
    (3, [5, 3]),
    (3, [7, 5]),
    (3, [16, 4]),
    (2, [13, 2]),
    (2, [1, 7]),
    (2, [9, 1]),
    (2, [16, 8]),
    (2, [6, 11]),
    (1, [32, 3]),
    (1, [16, 16]),
    (1, [33, 9]),
    (1, [3, 40]),
    (1, [67, 33]),
];

/// With logs of more words than these the largest framebuffer is too large.
const MANY_WORDS: u32 = 1000;

/// Most places for fragments where there is more than one triangle.
const SEVERAL: u32 = 400;

/// A triangle: its corners.
type Triangle = [[u32; 2]; 3];

/// Of so many fragments in a hundred those that come from triangles over everything. At the weaker tiers most is known where there are no helpers.
const fn whole_percent(tier: Tier) -> u32 {
    match tier {
        Tier::Maximal => 20,
        Tier::Plain | Tier::SubgroupUniform => 45,
    }
}

/// Of so many framebuffers in a hundred those that have several layers, and those whose pixels have several samples.
const LAYERS_PERCENT: u32 = 15;
const SAMPLES_PERCENT: u32 = 25;

/// What is drawn: triangles over everything, a rectangle of two, or triangles with their sides through quads.
fn triangles(draw: &mut Draw<'_>, config: &Config, spirv: SpirvVersion) -> Drawn {
    let [width, height] = draw.weighted(&FRAMEBUFFERS);
    // The logs of all fragments have to fit.
    let log_words = config.size.unwrap_or(config.profile.size()).log_words;
    let [width, height] = if log_words > MANY_WORDS && width * height > SEVERAL { [16, 16] } else { [width, height] };
    let whole = [[0, 0], [2 * width, 0], [0, 2 * height]];
    let mut drawn = Drawn::new([width, height], Vec::new());
    let mut room = (3 * SEVERAL / (width * height)).max(1);
    let mut take = |count: u32| {
        let taken = count.min(room);
        room /= taken;
        taken
    };
    if config.layers && spirv >= SpirvVersion::V1_5 && draw.percent(LAYERS_PERCENT) {
        drawn.layers = take(draw.weighted(&[(4, 2), (2, 3)]));
    }
    if draw.percent(SAMPLES_PERCENT) {
        let samples = draw.pick(&config.sample_counts);
        drawn.samples = if take(samples) == samples { samples } else { 1 };
    }
    let count = take(draw.weighted(&[(4, 1), (3, 2), (2, 3)]));
    let mut stream = Stream::new(draw.word());
    drawn.triangles = if draw.percent(whole_percent(config.tier)) {
        vec![whole; count as usize]
    } else if draw.percent(25) {
        rectangle(&mut stream, &drawn)
    } else {
        (0..count).map(|_| partial(&mut stream, &drawn)).collect()
    };
    // Where nothing can be found, as on a framebuffer of one pixel.
    drawn.triangles.iter_mut().filter(|triangle| **triangle == NONE).for_each(|triangle| *triangle = whole);
    if drawn.triangles.is_empty() {
        drawn.triangles.push(whole);
    }
    if config.categories.contains(&Category::QuadControl) {
        drawn.full_quads = draw.percent(40);
        drawn.quad_derivatives = draw.percent(30);
    }
    drawn
}

/// Stands for a triangle that was not found: all three corners in one.
const NONE: Triangle = [[0; 2]; 3];

/// How often something random is tried. About one in three triangles has no side through a sample.
const TRIES: u32 = 24;

/// How many fragments a triangle has; `None` where a side goes through a sample, or too near to one.
fn fragments(drawn: &Drawn, triangle: Triangle) -> Option<u32> {
    let drawn = Drawn { triangles: vec![triangle], ..*drawn };
    let mut inside = 0;
    for (x, y) in (0..drawn.height).flat_map(|y| (0..drawn.width).map(move |x| (x, y))) {
        for sample in 0..drawn.samples {
            match drawn.coverage(0, sample, [x, y]) {
                Coverage::OnSide | Coverage::NearClippedSide => return None,
                Coverage::Inside => inside += 1,
                Coverage::Outside => {}
            }
        }
    }
    Some(inside)
}

/// A triangle with its sides through quads: the first of a few that has an eighth of all samples, else that with the most.
fn partial(stream: &mut Stream, drawn: &Drawn) -> Triangle {
    let samples = drawn.width * drawn.height * drawn.samples;
    let mut best = (0, NONE);
    for _ in 0..TRIES {
        // A little past the edge, since between the corners of a pixel no triangle has its centre inside.
        let mut corner = || [stream.below(drawn.width + 2), stream.below(drawn.height + 2)];
        let triangle = [corner(), corner(), corner()].map(|[x, y]| [x.min(2 * drawn.width), y.min(2 * drawn.height)]);
        match fragments(drawn, triangle) {
            Some(inside) if inside > best.0 => best = (inside, triangle),
            _ => {}
        }
        if best.0 * 8 >= samples {
            break;
        }
    }
    best.1
}

/// A rectangle of two triangles, each of which has helpers where the other has fragments.
fn rectangle(stream: &mut Stream, drawn: &Drawn) -> Vec<Triangle> {
    for _ in 0..TRIES {
        let mut sides = |side: u32| {
            let first = if side > 2 { stream.below(side / 2) } else { 0 };
            [first, (first + 1 + stream.below(side + 1)).min(2 * side)]
        };
        let ([left, right], [top, bottom]) = (sides(drawn.width), sides(drawn.height));
        let halves = [[[left, top], [right, top], [left, bottom]], [[right, bottom], [left, bottom], [right, top]]];
        if halves.iter().all(|&half| fragments(drawn, half).is_some_and(|inside| inside > 0)) {
            return halves.into();
        }
    }
    Vec::new()
}

/// Vertices of an instance, or what else an item has, with their weights.
const OF_ITEM: [(u32, u32); 16] = [
    (8, 32),
    (6, 16),
    (6, 8),
    (6, 4),
    (2, 1),
    (2, 2),
    (3, 3),
    (3, 5),
    (3, 7),
    (3, 13),
    (3, 20),
    (3, 31),
    (3, 33),
    (3, 64),
    (2, 100),
    (1, 256),
];

/// Most invocations of all items together; one in four where logs are long.
const ITEM_INVOCATIONS: u32 = 256;

/// What is drawn for a stage before rasterisation.
fn items(draw: &mut Draw<'_>, config: &Config) -> Items {
    let log_words = config.size.unwrap_or(config.profile.size()).log_words;
    let most = if log_words > MANY_WORDS { ITEM_INVOCATIONS / 4 } else { ITEM_INVOCATIONS };
    let [fewest, largest] = config.stage.item_sizes();
    let size = draw.weighted(&OF_ITEM).min(most).clamp(fewest, largest);
    let count = draw.weighted(&[(5, 1), (3, 2), (2, 3), (1, 8)]).min(most / size);
    Items { size, count }
}

fn subgroup_size(draw: &mut Draw<'_>, config: &Config) -> SubgroupSize {
    let kinds = [
        (5, SubgroupSize::Default),
        (if config.varying_size { 2 } else { 0 }, SubgroupSize::Varying),
        (if config.required_sizes.is_empty() { 0 } else { 5 }, SubgroupSize::Required(0)),
    ];
    match draw.weighted(&kinds) {
        SubgroupSize::Required(_) => SubgroupSize::Required(draw.pick(&config.required_sizes)),
        other => other,
    }
}

/// The flag is legal only where x is a multiple of what the size may be (VUID-VkPipelineShaderStageCreateInfo-pNext-02757, -flags-02758,
/// -02759). With a size that varies or is not known exactly that is the largest one.
fn full_allowed(config: &Config, size: SubgroupSize, x: u32) -> bool {
    let multiple_of = match size {
        SubgroupSize::Required(size) => size,
        SubgroupSize::Default | SubgroupSize::Varying => config.max_subgroup_size,
    };
    config.full_subgroups && x.is_multiple_of(multiple_of)
}

fn workgroup(draw: &mut Draw<'_>, config: &Config, most: u32) -> [u32; 3] {
    let unusual = config.profile == Profile::Shapes;
    let dimensions = draw.weighted(&[(if unusual { 3 } else { 7 }, 1), (2, 2), (1, 3)]);
    // In `plain` the group that comes together is the workgroup: one subgroup makes most points exact.
    let few = config.tier == Tier::Plain && draw.percent(35);
    let size = if few {
        draw.pick(&[8, 16, 4, 32])
    } else if draw.percent(if unusual { 40 } else { 15 }) {
        let most = if unusual && draw.percent(5) { most } else { most.min(96) };
        draw.range(1, most)
    } else {
        draw.weighted(&SIZES)
    };
    let size = size.min(most);
    match dimensions {
        1 => [size.min(config.max_workgroup[0]), 1, 1],
        2 => {
            let y = side(draw, size, config.max_workgroup[1]);
            [(size / y).clamp(1, config.max_workgroup[0]), y, 1]
        }
        _ => {
            let z = side(draw, size, config.max_workgroup[2]);
            let y = side(draw, (size / z).max(1), config.max_workgroup[1]);
            [(size / z / y).clamp(1, config.max_workgroup[0]), y, z]
        }
    }
}

/// A side that divides the size about evenly, or nearly.
fn side(draw: &mut Draw<'_>, size: u32, most: u32) -> u32 {
    draw.pick(&[2, 4, 1, 3, 5, 8]).min(size).min(most).max(1)
}

fn groups(draw: &mut Draw<'_>, config: &Config) -> [u32; 3] {
    let count = draw.weighted(&[(5, 1), (4, 2), (3, 3)]).min(config.max_workgroups);
    let axis = draw.weighted(&[(6, 0), (1, 1), (1, 2)]);
    let mut groups = [1; 3];
    groups[axis] = count;
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::has_partial_quads;

    /// Draws of bytes as a campaign makes them.
    fn drawn(tier: Tier) -> Vec<Drawn> {
        let config = Config { stage: Stage::Fragment, tier, ..Config::default() };
        let draws = (0..600u32).map(|seed| {
            let mut stream = Stream::new(seed);
            let bytes: Vec<u8> = (0..64).map(|_| stream.next() as u8).collect();
            triangles(&mut Draw::new(&bytes), &config, SpirvVersion::V1_5)
        });
        draws.collect()
    }

    #[test]
    fn draws_have_parts_of_quads_several_primitives_layers_and_samples() {
        type Row = (&'static str, fn(&Drawn) -> bool, [usize; 2]);
        const ROWS: [Row; 7] = [
            ("parts of quads", has_partial_quads, [65, 95]),
            ("several primitives", |drawn| drawn.primitives() > 1, [45, 75]),
            ("several triangles", |drawn| drawn.triangles.len() > 1, [40, 70]),
            ("layers", |drawn| drawn.layers > 1, [10, 20]),
            ("samples", |drawn| drawn.samples > 1, [12, 22]),
            ("full quads", |drawn| drawn.full_quads, [33, 47]),
            ("quad derivatives", |drawn| drawn.quad_derivatives, [23, 37]),
        ];
        let drawn = drawn(Tier::Maximal);
        for (what, has, [least, most]) in ROWS {
            let percent = 100 * drawn.iter().filter(|drawn| has(drawn)).count() / drawn.len();
            assert!((least..=most).contains(&percent), "{what}: {percent} %");
        }
    }

    #[test]
    fn no_side_goes_through_a_sample() {
        for drawn in Tier::ALL.into_iter().flat_map(drawn) {
            assert!(
                drawn.triangles.iter().all(|&triangle| fragments(&drawn, triangle).is_some_and(|n| n > 0)),
                "{drawn:?}"
            );
        }
    }
}

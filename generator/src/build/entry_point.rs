//! The entry point: how a case is launched.

use tangle_program::case::{
    Centre, DerivativeGroup, Draw as Drawn, EntryPoint, Items, Launch, SpirvVersion, Stage, SubgroupSize, Tier,
    Workgroups,
};
use tangle_program::subgroup::Category;

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
            Stage::Fragment => Launch::Draw(triangles(draw, config)),
            _ => Launch::Items(items(draw, config)),
        };
        return EntryPoint { stage: config.stage, launch, subgroup_size, full_subgroups: false, spirv };
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
    let launch = Launch::Workgroups(Workgroups { size, count, default_size, derivative_group });
    EntryPoint { stage: config.stage, launch, subgroup_size, full_subgroups, spirv }
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

/// What is drawn: a triangle over everything, a rectangle of two, or triangles with their sides through quads.
fn triangles(draw: &mut Draw<'_>, config: &Config) -> Drawn {
    let [width, height] = draw.weighted(&FRAMEBUFFERS);
    // The logs of all fragments have to fit.
    let log_words = config.size.unwrap_or(config.profile.size()).log_words;
    let [width, height] = if log_words > MANY_WORDS && width * height > SEVERAL { [16, 16] } else { [width, height] };
    let whole = [[0, 0], [2 * width, 0], [0, 2 * height]];
    let mut drawn = Drawn { width, height, triangles: vec![whole], full_quads: false };
    let count = if width * height > SEVERAL { 1 } else { draw.weighted(&[(4, 1), (3, 2), (2, 3)]) };
    // At the weaker tiers most is known where there are no helpers.
    let whole_percent = if config.tier == Tier::Maximal { 25 } else { 55 };
    if !draw.percent(whole_percent) {
        let mut corner = || [draw.range(0, width), draw.range(0, height)];
        let made = (0..count).map(|_| [corner(), corner(), corner()]);
        drawn.triangles = made.collect();
        let fits = |drawn: &Drawn, k: usize| {
            let centres = (0..height).flat_map(|y| (0..width).map(move |x| [x, y])).map(|pixel| drawn.centre(k, pixel));
            let mut inside = false;
            for centre in centres {
                match centre {
                    Centre::OnSide => return false,
                    Centre::Inside => inside = true,
                    Centre::Outside => {}
                }
            }
            inside
        };
        for k in 0..drawn.triangles.len() {
            if !fits(&drawn, k) {
                drawn.triangles[k] = whole;
            }
        }
    }
    drawn.full_quads = config.categories.contains(&Category::QuadControl) && draw.percent(40);
    drawn
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

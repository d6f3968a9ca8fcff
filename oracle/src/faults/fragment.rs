//! Planted faults of fragment shaders: a device that gets one rule of section H (docs/rules.md) wrong.

use tangle_program::case::interface::MAP_WRITTEN;
use tangle_program::case::{Draw, EntryPoint};
use tangle_program::float;
use tangle_program::subgroup::{Category, Instance, OpInfo, Reach, SubgroupOp, Ub, first_lanes, lanes};
use tangle_program::tree::Discard;

use crate::mask::{Mask, highest, lowest};
use crate::rules::Rules;

/// Where a fault takes hold.
pub(super) enum Hook {
    /// What giving up a fragment does; nothing if `None`.
    Discard(fn(Discard) -> Option<Discard>),
    /// Stores of helpers have an effect: of those that were helpers from the beginning, of those that were demoted.
    Stores { at_entry: bool, demoted: bool },
    /// The helpers that take part in an operation.
    Helpers(fn(&OpInfo, u128) -> u128),
    /// What `helperInvocationEXT()` gives: of what is so now, and what was at the beginning.
    IsHelper(fn(bool, bool) -> bool),
    /// What `gl_HelperInvocation` is: of what is right.
    HelperInput(fn(bool) -> bool),
    /// The record of the lane map of a place, blank where there is no fragment.
    Record(fn(&mut [u32])),
    /// The slice of the grid that a fragment of one takes itself to be in; nothing if it is not executed.
    Slice(fn(&Draw, u32) -> Option<u32>),
    /// The slice of the grid that the neighbour at the side is in.
    Beside(fn(&Draw, u32) -> u32),
    /// The triangle and the vertex that flat inputs are taken from.
    Flat(fn(u32) -> (u32, u32)),
    /// What a derivative gives to all lanes.
    Derivative(fn(&OpInfo, &Instance<'_>, &mut [u64])),
}

/// Every lane gets what another one should.
fn exchange(instance: &Instance<'_>, out: &mut [u64], from: impl Fn(usize) -> usize) {
    let right = out.to_vec();
    lanes(instance.tangle).for_each(|lane| out[lane] = right.get(from(lane)).copied().unwrap_or(0));
}

/// What another derivative gives.
fn derived(op: SubgroupOp, instance: &Instance<'_>, out: &mut [u64]) {
    // Where it is not defined the device gives something all the same.
    let _ = (op.info().meaning)(instance, out);
}

/// True of the derivatives along x.
const fn is_along_x(op: SubgroupOp) -> bool {
    matches!(op, SubgroupOp::DFdxFine | SubgroupOp::DFdxCoarse | SubgroupOp::DFdx)
}

fn without_op(op: SubgroupOp, info: &OpInfo, helpers: u128) -> u128 {
    if info.op == op { 0 } else { helpers }
}

fn without_category(category: Category, info: &OpInfo, helpers: u128) -> u128 {
    if info.category == category { 0 } else { helpers }
}

/// The sample of a slice.
fn sample(draw: &Draw, depth: u32) -> u32 {
    draw.slice(depth).sample
}

/// Slices of a layer.
fn of_layer(draw: &Draw) -> u32 {
    draw.triangles.len() as u32 * draw.samples
}

/// The words of each slice of the grid.
fn slices<'a>(
    draw: &Draw,
    entry_point: &EntryPoint,
    words: &'a [u32],
) -> impl Iterator<Item = (u32, &'a [u32])> + use<'a> {
    let [columns, rows, _] = draw.grid();
    (0..).zip(words.chunks((columns * rows) as usize * entry_point.map_words()))
}

/// The map where the fragments of a slice take themselves to be in another one.
fn in_other_slices(draw: &Draw, entry_point: &EntryPoint, words: &mut [u32], other: fn(&Draw, u32) -> Option<u32>) {
    let right = words.to_vec();
    words.fill(0);
    for (depth, slice) in slices(draw, entry_point, &right) {
        let Some(other) = other(draw, depth) else { continue };
        let first = other as usize * slice.len();
        let Some(to) = words.get_mut(first..first + slice.len()) else { continue };
        let records = to.chunks_mut(entry_point.map_words()).zip(slice.chunks(entry_point.map_words()));
        records.filter(|(_, record)| is_written(record)).for_each(|(to, record)| to.copy_from_slice(record));
    }
}

/// The map where the neighbour at the side is of another slice.
fn beside_other_slices(draw: &Draw, entry_point: &EntryPoint, words: &mut [u32], other: fn(&Draw, u32) -> u32) {
    let [columns, rows, _] = draw.grid();
    let in_slice = columns * rows;
    for (ordinal, record) in (0..).zip(words.chunks_mut(entry_point.map_words())) {
        if is_written(record) {
            let at = record[7] >> 8;
            let moved = other(draw, ordinal / in_slice) * in_slice + at % in_slice;
            record[7] = moved << 8 | record[7] & 0xFF;
        }
    }
}

/// True of a record that a fragment wrote.
fn is_written(record: &[u32]) -> bool {
    record.last() == Some(&MAP_WRITTEN)
}

/// Changes a record that a fragment wrote.
fn change(record: &mut [u32], change: fn(&mut [u32])) {
    if is_written(record) {
        change(record);
    }
}

faults! {
    /// A planted fault of fragment shaders.
    FragmentFault:
    // Giving up.
    /// `demote` ends the fragment.
    DemoteTerminates => Hook::Discard(|_| Some(Discard::Terminate)),
    /// `terminateInvocation` makes the fragment a helper that goes on.
    TerminateDemotes => Hook::Discard(|_| Some(Discard::Demote)),
    /// `demote` does nothing.
    DemoteIgnored => Hook::Discard(|how| (how == Discard::Terminate).then_some(how)),
    /// `terminateInvocation` does nothing.
    TerminateIgnored => Hook::Discard(|how| (how == Discard::Demote).then_some(how)),
    // Stores.
    /// A fragment that was demoted goes on storing.
    DemotedStores => Hook::Stores { at_entry: false, demoted: true },
    /// Helpers that were launched as helpers store.
    HelperStores => Hook::Stores { at_entry: true, demoted: false },
    /// All helpers store.
    AllHelpersStore => Hook::Stores { at_entry: true, demoted: true },
    // Who takes part at tier maximal.
    /// Helpers are inactive for everything but quad operations.
    HelpersInactive => Hook::Helpers(|info, helpers| if info.reach == Reach::Quad { helpers } else { 0 }),
    /// Helpers are inactive for everything.
    HelpersAbsent => Hook::Helpers(|_, _| 0),
    /// Helpers are inactive for quad operations.
    HelpersNotInQuads => Hook::Helpers(|info, helpers| if info.reach == Reach::Quad { 0 } else { helpers }),
    /// The lowest helper is inactive.
    LowestHelperInactive => Hook::Helpers(|_, helpers| helpers & !lowest(helpers)),
    /// The highest helper is inactive.
    HighestHelperInactive => Hook::Helpers(|_, helpers| helpers & !highest(helpers)),
    /// Only one helper of the subgroup is active.
    OneHelperActive => Hook::Helpers(|_, helpers| lowest(helpers)),
    /// `subgroupBroadcastFirst` takes the lowest lane that is no helper.
    BroadcastFirstSkipsHelpers => Hook::Helpers(|info, helpers| without_op(SubgroupOp::BroadcastFirst, info, helpers)),
    /// `subgroupElect` elects the lowest lane that is no helper.
    ElectSkipsHelpers => Hook::Helpers(|info, helpers| without_op(SubgroupOp::Elect, info, helpers)),
    /// Helpers are not in ballots.
    BallotSkipsHelpers => Hook::Helpers(|info, helpers| without_op(SubgroupOp::Ballot, info, helpers)),
    /// Helpers do not vote.
    HelpersDoNotVote => Hook::Helpers(|info, helpers| without_category(Category::Vote, info, helpers)),
    /// Helpers are not in reductions and scans.
    ReductionsSkipHelpers => Hook::Helpers(|info, helpers| without_category(Category::Arithmetic, info, helpers)),
    /// Helpers are not in clusters.
    ClustersSkipHelpers => Hook::Helpers(|info, helpers| without_category(Category::Clustered, info, helpers)),
    /// A shuffle from a helper gives nothing.
    ShufflesSkipHelpers => Hook::Helpers(|info, helpers| without_category(Category::Shuffle, info, helpers)),
    // What a helper is.
    /// `helperInvocationEXT()` says what was so at the beginning.
    HelperOfEntry => Hook::IsHelper(|_, at_entry| at_entry),
    /// `helperInvocationEXT()` is true of demoted fragments only.
    HelperOnlyDemoted => Hook::IsHelper(|now, at_entry| now && !at_entry),
    /// `helperInvocationEXT()` is the contrary.
    HelperContrary => Hook::IsHelper(|now, _| !now),
    /// `gl_HelperInvocation` is false everywhere.
    HelperInputFalse => Hook::HelperInput(|_| false),
    /// `gl_HelperInvocation` is the contrary.
    HelperInputContrary => Hook::HelperInput(|at_entry| !at_entry),
    // The lane map.
    /// The rows of a quad are its columns.
    QuadTransposed => Hook::Record(|record| change(record, |record| record.swap(7, 8))),
    /// The lanes of a quad are numbered from right to left.
    QuadMirrored => Hook::Record(|record| change(record, |record| record[0] ^= 1)),
    /// The lanes of a quad are numbered from below.
    QuadUpsideDown => Hook::Record(|record| change(record, |record| record[0] ^= 2)),
    /// A diagonal swap is a horizontal one.
    QuadDiagonalIsHorizontal => Hook::Record(|record| change(record, |record| record[9] = record[7])),
    /// A quad swap gives the lane's own value.
    QuadSwapOfSelf => Hook::Record(|record| change(record, |record| record[7] ^= 2)),
    /// Helpers say that they are fragments.
    HelperPosesAsFragment => Hook::Record(|record| {
        change(record, |record| record[7..10].iter_mut().for_each(|word| *word &= !1));
    }),
    /// Helpers are not in the ballot at entry.
    EntryBallotWithoutHelpers => Hook::Record(|record| change(record, |record| {
        let lane = record[0];
        for (which, at) in (1..).zip(7..10) {
            if record[at] & 1 == 1 {
                record[3 + ((lane ^ which) / 32) as usize] &= !(1 << ((lane ^ which) % 32));
            }
        }
    })),
    /// Lane 0 is not executed.
    FragmentLost => Hook::Record(|record| change(record, |record| if record[0] == 0 { record.fill(0) })),
    /// Helpers write records.
    HelperRecords => Hook::Record(|record| if !is_written(record) { record.fill(MAP_WRITTEN) }),
    // Layers and samples.
    /// The columns of a quad are of different samples.
    QuadAcrossSamples => Hook::Beside(|draw, depth| {
        depth - sample(draw, depth) + (sample(draw, depth) + 1) % draw.samples
    }),
    /// The columns of a quad are of different layers.
    QuadAcrossLayers => Hook::Beside(|draw, depth| (depth + of_layer(draw)) % draw.grid()[2]),
    /// `gl_SampleID` is 0 everywhere.
    SampleIsFirst => Hook::Slice(|draw, depth| Some(depth - sample(draw, depth))),
    /// `gl_SampleID` counts from the last sample down.
    SamplesReversed => Hook::Slice(|draw, depth| Some(depth + draw.samples - 1 - 2 * sample(draw, depth))),
    /// The shader is executed for one sample of each pixel.
    PixelsShaded => Hook::Slice(|draw, depth| (sample(draw, depth) == 0).then_some(depth)),
    /// `gl_Layer` is 0 everywhere.
    LayerIsFirst => Hook::Slice(|draw, depth| Some(depth % of_layer(draw))),
    /// Nothing is drawn into the last layer, if there are several.
    LastLayerLost => Hook::Slice(|draw, depth| {
        let is_last = draw.layers > 1 && draw.slice(depth).layer + 1 == draw.layers;
        (!is_last).then_some(depth)
    }),
    // Flat inputs.
    /// Flat inputs are those of the last vertex of the triangle.
    FlatOfLastVertex => Hook::Flat(|triangle| (triangle, 2)),
    /// Flat inputs are those of the second vertex of the triangle.
    FlatOfSecondVertex => Hook::Flat(|triangle| (triangle, 1)),
    /// Flat inputs are those of the next triangle.
    FlatOfNextTriangle => Hook::Flat(|triangle| (triangle + 1, 0)),
    /// All triangles have the flat inputs of the first.
    FlatOfFirstTriangle => Hook::Flat(|_| (0, 0)),
    // Derivatives.
    /// Derivatives have the other sign.
    DerivativeNegated => Hook::Derivative(|info, instance, out| {
        let negate = |bits: u64| float::bits(instance.scalar, -float::value(instance.scalar, bits));
        let is_width = info.op.terms() > 2;
        lanes(instance.tangle).filter(|_| !is_width).for_each(|lane| out[lane] = negate(out[lane]));
    }),
    /// Fine derivatives are those of the other row, or column.
    DerivativeOfOtherRow => Hook::Derivative(|info, instance, out| {
        exchange(instance, out, |lane| lane ^ if is_along_x(info.op) { 2 } else { 1 });
    }),
    /// Fine derivatives are coarse: all lanes of a quad get that of its first one.
    DerivativeOfFirstRow => Hook::Derivative(|_, instance, out| exchange(instance, out, |lane| lane & !3)),
    /// Derivatives are those of the neighbouring quad.
    DerivativeOfNextQuad => Hook::Derivative(|_, instance, out| exchange(instance, out, |lane| lane ^ 4)),
    /// Derivatives along x are along y.
    DerivativeTransposed => Hook::Derivative(|info, instance, out| if is_along_x(info.op) {
        derived(SubgroupOp::DFdyFine, instance, out);
    }),
    /// Derivatives are 0 where not all lanes of the subgroup execute them.
    DerivativeNeedsSubgroup => Hook::Derivative(|_, instance, out| if instance.tangle != first_lanes(instance.size) {
        lanes(instance.tangle).for_each(|lane| out[lane] = 0);
    }),
    /// `fwidth` is that along x alone.
    WidthAlongX => Hook::Derivative(|info, instance, out| if info.op.terms() > 2 {
        derived(SubgroupOp::DFdxFine, instance, out);
        lanes(instance.tangle).for_each(|lane| out[lane] &= 0x7FFF_FFFF);
    }),
    /// The subgroup is said to be twice as large.
    SizeDoubled => Hook::Record(|record| change(record, |record| record[1] *= 2)),
}

/// A device with one fault of fragment shaders.
#[derive(Clone, Copy, Debug)]
pub struct PlantedFragment(pub FragmentFault);

impl Rules for PlantedFragment {
    fn discard(&mut self, how: Discard) -> Option<Discard> {
        match self.0.hook() {
            Hook::Discard(change) => change(how),
            _ => Some(how),
        }
    }

    fn storing(&mut self, active: Mask, helpers: &Mask, at_entry: &Mask) -> Mask {
        match self.0.hook() {
            Hook::Stores { at_entry: entry, demoted } => {
                let mut quiet = helpers.minus(helpers);
                if !entry {
                    quiet.add(at_entry);
                }
                if !demoted {
                    quiet.add(&helpers.minus(at_entry));
                }
                active.minus(&quiet)
            }
            _ => active.minus(helpers),
        }
    }

    fn helpers_in_tangle(&mut self, info: &OpInfo, helpers: u128) -> u128 {
        match self.0.hook() {
            Hook::Helpers(change) => change(info, helpers),
            _ => helpers,
        }
    }

    fn provoking_vertex(&mut self, triangle: u32) -> (u32, u32) {
        match self.0.hook() {
            Hook::Flat(taken) => taken(triangle),
            _ => (triangle, 0),
        }
    }

    fn operate(&mut self, info: &OpInfo, instance: &Instance<'_>, out: &mut [u64]) -> Result<u128, Ub> {
        let undefined = (info.meaning)(instance, out)?;
        if let (Hook::Derivative(change), Category::Derivative) = (self.0.hook(), info.category) {
            change(info, instance, out);
        }
        Ok(undefined)
    }

    fn is_helper(&mut self, now: bool, at_entry: bool) -> bool {
        match self.0.hook() {
            Hook::IsHelper(change) => change(now, at_entry),
            _ => now,
        }
    }

    fn helper_input(&mut self, at_entry: bool) -> bool {
        match self.0.hook() {
            Hook::HelperInput(change) => change(at_entry),
            _ => at_entry,
        }
    }

    fn map_written(&mut self, entry_point: &EntryPoint, words: &mut [u32]) {
        let Some(draw) = entry_point.draw() else { return };
        match self.0.hook() {
            Hook::Record(change) => words.chunks_mut(entry_point.map_words()).for_each(change),
            Hook::Slice(other) => in_other_slices(draw, entry_point, words, other),
            Hook::Beside(other) => beside_other_slices(draw, entry_point, words, other),
            Hook::Discard(_)
            | Hook::Stores { .. }
            | Hook::Helpers(_)
            | Hook::IsHelper(_)
            | Hook::HelperInput(_)
            | Hook::Flat(_)
            | Hook::Derivative(_) => {}
        }
    }
}

//! The lane map as shaders store it. A driver whose stores cost as much as everything else in a program has fewer of them that way: a record takes 5 words
//! in place of 10 ([`PACKED_MAP_WORDS`](crate::interface::PACKED_MAP_WORDS)), and what is judged and saved is the record with a word for each fact.
//!
//! | word | workgroups | before rasterisation | fragments |
//! |---|---|---|---|
//! | lane and subgroup size, [a half each](halves) | 0 | 0 | 0 |
//! | `gl_SubgroupID` and `gl_NumSubgroups`, a half each | 1 | | |
//! | [`WRITTEN`] and the token, added | 2 | 1 | 1 |
//! | first word of the ballot | 3 | 2 | 2 |
//! | its other words | 4, [folded] | 3, folded | 3, 4, 5 |
//! | what the quad reports | | | 6, 7, 8 |
//!
//! Nothing that a device may do wrong is lost by it. A number that does not fit into a half is stored as the largest one, which is right for none of them. Words of a
//! ballot that are folded come back as they were, unless lanes from 64 on are active; then they come back if the ballot is the one that the rest of the map
//! asks for (docs/rules.md, M7), and as another one if it is not.

use std::collections::BTreeMap;

use crate::entry_point::{EntryPoint, Launch};
use crate::interface::{MAP_WRITTEN, MAP_WRITTEN_ARB, NOT_OBSERVED};

/// Is added to the token in a record that was written.
pub const WRITTEN: u32 = 0x7400_0000;
/// The same for [`MAP_WRITTEN_ARB`].
pub const WRITTEN_ARB: u32 = 0x6100_0000;
/// Largest number that a half of a word holds. The next one stands for a number that the language cannot read ([`NOT_OBSERVED`]).
pub const LARGEST: u32 = 0xFFFE;
/// The bits of the lower half.
const HALF: u32 = 0xFFFF;
/// The third and the fourth word of a ballot are multiplied by these, and added to the second.
pub const FOLD: [u32; 2] = [0x9E37_79B1, 0x85EB_CA77];

/// Two numbers in a word.
pub const fn halves(low: u32, high: u32) -> u32 {
    half(low) | half(high) << 16
}

const fn half(number: u32) -> u32 {
    match number {
        NOT_OBSERVED => HALF,
        number if number > LARGEST => LARGEST,
        number => number,
    }
}

/// The two numbers of [`halves`], low half first.
fn whole(word: u32) -> [u32; 2] {
    [word & HALF, word >> 16].map(|half| if half == HALF { NOT_OBSERVED } else { half })
}

/// The three upper words of a ballot in one.
pub const fn folded(upper: [u32; 3]) -> u32 {
    upper[0].wrapping_add(upper[1].wrapping_mul(FOLD[0])).wrapping_add(upper[2].wrapping_mul(FOLD[1]))
}

/// What a device with this lane map stores, from records of [`EntryPoint::map_words`] words and what stands behind them.
pub fn pack(entry_point: &EntryPoint, map: &[u32]) -> Vec<u32> {
    let (records, behind) = split(entry_point, map, entry_point.map_words());
    let mut words = Vec::with_capacity(entry_point.packed_map_len());
    for record in records.chunks_exact(entry_point.map_words()) {
        let is_of_workgroup = matches!(entry_point.launch, Launch::Workgroups(_));
        let Some((&mark, [lane, size, rest @ ..])) = record.split_last() else { continue };
        words.push(halves(*lane, *size));
        let rest = match rest {
            [id, subgroups, rest @ ..] if is_of_workgroup => {
                words.push(halves(*id, *subgroups));
                rest
            }
            rest => rest,
        };
        let [token, x, upper @ ..] = rest else { continue };
        words.push(match mark {
            MAP_WRITTEN => token.wrapping_add(WRITTEN),
            MAP_WRITTEN_ARB => token.wrapping_add(WRITTEN_ARB),
            _ => 0,
        });
        words.push(*x);
        match upper {
            &[y, z, w] => words.push(folded([y, z, w])),
            upper => words.extend_from_slice(upper),
        }
    }
    words.extend_from_slice(behind);
    words
}

/// The records of a buffer and what stands behind them, as [`pack`] takes them. A buffer that is too short gives a map that is.
pub fn unpack(entry_point: &EntryPoint, buffer: &[u32]) -> Vec<u32> {
    let packed = entry_point.packed_map_words();
    let (records, behind) = split(entry_point, buffer, packed);
    let is_of_workgroup = matches!(entry_point.launch, Launch::Workgroups(_));
    let is_folded = !matches!(entry_point.launch, Launch::Draw(_));
    let group = |at: usize| if is_of_workgroup { at / entry_point.group_size().max(1) as usize } else { 0 };
    let active = if is_folded { active_lanes(records, packed, is_of_workgroup, group) } else { BTreeMap::new() };
    let mut words = Vec::with_capacity(entry_point.map_len());
    for (at, record) in records.chunks_exact(packed).enumerate() {
        let (&both, mut rest) = record.split_first().expect("a record has words");
        words.extend(whole(both));
        if is_of_workgroup {
            words.extend(whole(rest[0]));
            rest = &rest[1..];
        }
        let (token, mark) = written(rest[0]);
        words.extend([token, rest[1]]);
        if is_folded {
            let ballot = active.get(&(group(at), token)).copied().unwrap_or(0);
            let upper = [1, 2, 3].map(|word| (ballot >> (32 * word)) as u32);
            let is_expected = ballot as u32 == rest[1] && folded(upper) == rest[2];
            words.extend(if is_expected { upper } else { [rest[2], 0, 0] });
        } else {
            words.extend_from_slice(&rest[2..]);
        }
        words.push(mark);
    }
    words.extend_from_slice(behind);
    words
}

/// The token and the mark of a record; zeros if it was not written.
const fn written(word: u32) -> (u32, u32) {
    match word >> 24 {
        _ if word == 0 => (0, 0),
        0x61 => (word - WRITTEN_ARB, MAP_WRITTEN_ARB),
        _ => (word.wrapping_sub(WRITTEN), MAP_WRITTEN),
    }
}

/// The lanes that have a token in common, by group and token.
fn active_lanes(
    records: &[u32],
    packed: usize,
    is_of_workgroup: bool,
    group: impl Fn(usize) -> usize,
) -> BTreeMap<(usize, u32), u128> {
    let mut active = BTreeMap::new();
    for (at, record) in records.chunks_exact(packed).enumerate() {
        let (token, mark) = written(record[1 + usize::from(is_of_workgroup)]);
        if mark != 0 {
            *active.entry((group(at), token)).or_default() |= 1u128.checked_shl(record[0] & HALF).unwrap_or(0);
        }
    }
    active
}

/// The records, and what stands behind them.
fn split<'w>(entry_point: &EntryPoint, words: &'w [u32], record: usize) -> (&'w [u32], &'w [u32]) {
    words.split_at(words.len().min(entry_point.invocations() as usize * record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry_point::{Draw, Items, SpirvVersion, Stage};

    fn items() -> EntryPoint {
        let launch = Launch::Items(Items { size: 2, count: 2 });
        EntryPoint { stage: Stage::Vertex, launch, ..EntryPoint::compute([1, 1, 1], [1, 1, 1], SpirvVersion::V1_3) }
    }

    fn fragments() -> EntryPoint {
        let launch = Launch::Draw(Draw::new([2, 2], vec![[[0, 0], [4, 0], [0, 4]]]));
        EntryPoint { stage: Stage::Fragment, launch, ..EntryPoint::compute([1, 1, 1], [1, 1, 1], SpirvVersion::V1_3) }
    }

    /// Two workgroups of two invocations in subgroups of 128.
    fn workgroups() -> EntryPoint {
        EntryPoint::compute([2, 1, 1], [2, 1, 1], SpirvVersion::V1_3)
    }

    #[test]
    fn records_come_back() {
        let ballot = |lanes: [u32; 2]| lanes.map(|lane| 1u128 << lane).iter().sum::<u128>();
        let word = |ballot: u128, at: u32| (ballot >> (32 * at)) as u32;
        let record = |lane: u32, token: u32, mask: u128| {
            [lane, 128, 3, 4, token, word(mask, 0), word(mask, 1), word(mask, 2), word(mask, 3), MAP_WRITTEN]
        };
        let entry_point = workgroups();
        for lanes in [[0, 1], [31, 32], [63, 64], [5, 127], [95, 96]] {
            let right = ballot(lanes);
            // The ballot that the lanes ask for, and another one in the second workgroup.
            for other in [right, right ^ 1, right ^ 1 << 40, 0] {
                let one = |mask: u128| lanes.map(|lane| record(lane, 7, mask)).concat();
                let map = [one(right), one(other)].concat();
                let packed = pack(&entry_point, &map);
                assert_eq!(packed.len(), entry_point.packed_map_len());
                let back = unpack(&entry_point, &packed);
                // Without lanes from 64 on everything does; with them a wrong ballot comes back as a wrong one.
                let is_exact = other == right || other >> 64 == 0;
                assert_eq!(back == map, is_exact, "{lanes:?} {other:x}");
                assert_eq!(back[..20], map[..20], "{lanes:?}");
                assert_eq!(back[25..29] == back[5..9], other == right, "{lanes:?} {other:x}");
                assert_eq!(pack(&entry_point, &back), packed);
            }
        }
    }

    #[test]
    fn numbers_that_do_not_fit_stay_wrong() {
        let map: Vec<u32> = [
            [1 << 16, 1 << 20, 1 << 16, 70_000, 5, 1, 0, 0, 0, MAP_WRITTEN],
            [0, 32, NOT_OBSERVED, NOT_OBSERVED, 1 << 30, 1, 0, 0, 0, MAP_WRITTEN],
            [0; 10],
            [1, 4, 0, 0, 3, 1, 2, 0, 0, MAP_WRITTEN_ARB],
        ]
        .concat();
        let back = unpack(&workgroups(), &pack(&workgroups(), &map));
        assert_eq!(back[..10], [LARGEST, LARGEST, LARGEST, LARGEST, 5, 1, 0, 0, 0, MAP_WRITTEN]);
        assert_eq!(back[10..], map[10..]);
    }

    #[test]
    fn records_of_other_stages_and_what_is_behind_come_back() {
        for entry_point in [items(), fragments()] {
            let record = entry_point.map_words();
            let mut map: Vec<u32> = (0..entry_point.map_len() as u32).map(|k| k % 64).collect();
            let ballot = if record == 8 { 3..7 } else { 3..3 };
            for record in map[..entry_point.invocations() as usize * record].chunks_exact_mut(record) {
                *record.last_mut().expect("a record has words") = MAP_WRITTEN;
                record[ballot.clone()].copy_from_slice(&[1, 2, 0, 0][..ballot.len()]);
            }
            let packed = pack(&entry_point, &map);
            assert_eq!(packed.len(), entry_point.packed_map_len());
            assert_eq!(unpack(&entry_point, &packed), map);
            // What a driver that stops early leaves.
            assert!(unpack(&entry_point, &packed[..packed.len() / 2]).len() < map.len());
            assert!(unpack(&entry_point, &[]).is_empty());
        }
    }
}

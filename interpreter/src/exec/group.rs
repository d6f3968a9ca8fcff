//! Subgroup operations (SPIR-V 1.6 §3.52.24): functions of the tangle of one subgroup and the operands of its lanes.

use super::Machine;
use super::accuracy::{Answer, Number};
use super::format::encode;
use super::memory::SCALARS_PER_STEP;
use super::reasons::POISON;
use super::stop::Stop;
use crate::alu;
use crate::code::*;
use crate::decode::GROUP_TAG;
use crate::faults::Planted;
use crate::outcome::{Rule, Why};
use crate::types::Scalar;

/// The lanes of a tangle: lane and local invocation index, ascending by lane.
pub(super) type Members = Vec<(u32, u32)>;

impl Machine<'_> {
    pub(super) fn group(
        &mut self,
        inst: &Inst,
        group: Group,
        scalar: Scalar,
        n: usize,
        cluster: u8,
    ) -> Result<(), Stop> {
        let number = inst.d & !GROUP_TAG;
        let code = self.code;
        for &out in &code.pool[inst.outs.range()] {
            self.clear(out);
        }
        let layout = self.layout;
        let uniform = if matches!(group, Group::Derivative(..)) { self.uniform_primitives() } else { Vec::new() };
        for (s, subgroup) in layout.subgroups.iter().enumerate() {
            let mut mask = 0;
            let mut members: Members = Vec::with_capacity(subgroup.slots.len());
            for (lane, &slot) in subgroup.slots.iter().enumerate() {
                if slot != u32::MAX && self.lanes.contains(slot as usize) {
                    mask |= 1u128 << lane;
                    members.push((lane as u32, slot));
                }
            }
            if members.is_empty() {
                continue;
            }
            let absent = self.may_be_absent(group, s, mask);
            let known = self.knows_tangle(number, s, mask);
            let exact = known && (absent == 0 || group.is_of_quad());
            if self.is(Planted::InactiveLanesTakePart) {
                members = subgroup
                    .slots
                    .iter()
                    .enumerate()
                    .filter(|(_, slot)| **slot != u32::MAX)
                    .map(|(l, s)| (l as u32, *s))
                    .collect();
                mask = subgroup.live;
            }
            let size = layout.size;
            let operation =
                Operation { inst, group, scalar, n, cluster, mask, size, exact, subgroup: s, uniform: &uniform };
            self.operate(&operation, &members)?;
            if !exact {
                self.leave_open(&operation, &members, absent);
            } else if absent != 0 {
                let of_absent = members.iter().copied().filter(|(lane, _)| absent >> lane & 1 == 1);
                self.leave_open(&operation, &of_absent.collect(), absent);
            }
        }
        Ok(())
    }

    /// The tier leaves open who is together: so are the results, unless they do not depend on that. Of lanes that may be missing nothing is said, whatever they
    /// depend on.
    fn leave_open(&mut self, op: &Operation<'_>, members: &Members, absent: u128) {
        let code = self.code;
        let open = self.reasons.taint(Why::Tangle, op.inst.place);
        for &(lane, slot) in members {
            if absent >> lane & 1 == 0 && self.is_own(op, lane, slot as usize) {
                continue;
            }
            for &out in &code.pool[op.inst.outs.range()] {
                let (bits, taint) = self.columns.get(out, slot as usize);
                if taint & POISON == 0 {
                    self.columns.set(out, slot as usize, bits, open);
                }
            }
        }
    }

    /// True if the result of a lane depends on nobody else: the source is the lane itself, whatever the tangle is.
    fn is_own(&self, op: &Operation<'_>, lane: u32, slot: usize) -> bool {
        let code = self.code;
        let ins = &code.pool[op.inst.ins.range()];
        let index = |at: usize| ins.get(at).map(|&reg| self.columns.get(reg, slot));
        match op.group {
            Group::Shuffle => index(op.n) == Some((u64::from(lane), 0)),
            Group::ShuffleXor | Group::ShuffleUp | Group::ShuffleDown => index(op.n) == Some((0, 0)),
            Group::Fold(_, Scan::Clustered) => op.cluster == 1,
            // Functions of the lane's own operands.
            Group::InverseBallot | Group::BallotBitExtract => true,
            Group::BallotBitCount(_) | Group::BallotFindLsb | Group::BallotFindMsb => {
                let class = self.class_mask(op.subgroup, op.mask, slot);
                self.mask_operand(op, ins, slot).0 & !class == 0
            }
            Group::All => self.columns.get(ins[0], slot) == (0, 0),
            Group::Any => self.columns.get(ins[0], slot) == (1, 0),
            _ => false,
        }
    }

    fn operate(&mut self, op: &Operation<'_>, members: &Members) -> Result<(), Stop> {
        let code = self.code;
        let ins: &[Reg] = &code.pool[op.inst.ins.range()];
        let outs: &[Reg] = &code.pool[op.inst.outs.range()];
        match op.group {
            Group::Elect => {
                let last = self.is(Planted::ElectHighest);
                let chosen = if last { members.last() } else { members.first() }.map(|(lane, _)| *lane);
                for &(lane, slot) in members {
                    self.columns.set(outs[0], slot as usize, u64::from(Some(lane) == chosen), 0);
                }
            }
            Group::All | Group::Any => {
                let wants = op.group == Group::Any || self.is(Planted::AllIsAny);
                self.vote(members.iter().copied(), members, ins[0], outs[0], wants);
            }
            Group::QuadAll | Group::QuadAny => {
                let wants = op.group == Group::QuadAny;
                for quad in members.chunk_by(|x, y| x.0 / 4 == y.0 / 4) {
                    self.vote(quad.iter().copied(), &quad.to_vec(), ins[0], outs[0], wants);
                }
            }
            Group::AllEqual => self.all_equal(op, members, ins, outs[0]),
            Group::Ballot => self.ballot(op, members, ins[0], outs),
            Group::Partition => self.partition(op, members, ins, outs),
            Group::Broadcast => self.broadcast(op, members, ins, outs)?,
            Group::BroadcastFirst => {
                let from = if self.is(Planted::BroadcastLast) { members.last() } else { members.first() };
                let from = from.map_or(0, |(_, slot)| *slot as usize);
                for c in 0..op.n {
                    let (bits, taint) = self.columns.get(ins[c], from);
                    members.iter().for_each(|&(_, slot)| self.columns.set(outs[c], slot as usize, bits, taint));
                }
            }
            Group::Shuffle | Group::ShuffleXor | Group::ShuffleUp | Group::ShuffleDown | Group::QuadSwap(_) => {
                self.shuffle(op, members, ins, outs);
            }
            Group::Rotate => {
                self.same_everywhere(op, members, ins[op.n], "delta")?;
                self.check_cluster(op, members)?;
                self.shuffle(op, members, ins, outs);
            }
            Group::QuadBroadcast => {
                for quad in members.chunk_by(|x, y| x.0 / 4 == y.0 / 4) {
                    self.same_everywhere(op, &quad.to_vec(), ins[op.n], "index")?;
                }
                self.shuffle(op, members, ins, outs);
            }
            Group::InverseBallot
            | Group::BallotBitExtract
            | Group::BallotBitCount(_)
            | Group::BallotFindLsb
            | Group::BallotFindMsb => self.of_ballot(op, members, ins, outs[0])?,
            Group::Fold(fold, scan) => self.fold(op, members, (fold, scan), ins, outs)?,
            Group::Derivative(derivative, of) => self.derivative(op, members, (derivative, of), ins, outs),
        }
        Ok(())
    }

    fn worst(&self, reg: Reg, members: &Members) -> u32 {
        members.iter().map(|&(_, slot)| self.columns.taint(reg, slot as usize)).max().unwrap_or(0)
    }

    /// `OpGroupNonUniformAll`, `OpGroupNonUniformAny`. One lane that decides does so whatever the open ones have; an undefined one spoils all.
    fn vote(&mut self, voters: impl Iterator<Item = (u32, u32)>, members: &Members, x: Reg, out: Reg, wants: bool) {
        let (mut decided, mut worst) = (false, 0);
        for (_, slot) in voters {
            let (bits, taint) = self.columns.get(x, slot as usize);
            worst = worst.max(taint);
            decided |= taint == 0 && (bits != 0) == wants;
        }
        let value = decided == wants;
        let taint = if decided && worst & POISON == 0 { 0 } else { self.reasons.derived(worst) };
        members.iter().for_each(|&(_, slot)| self.columns.set(out, slot as usize, u64::from(value), taint));
    }

    fn all_equal(&mut self, op: &Operation<'_>, members: &Members, ins: &[Reg], out: Reg) {
        let mut result = Some(true);
        let mut worst = 0;
        let first = members[0].1 as usize;
        let compared = if self.is(Planted::AllEqualOfFirstComponent) { 1 } else { op.n };
        for &reg in &ins[..compared] {
            worst = worst.max(self.worst(reg, members));
            for &(_, slot) in members {
                let ((x, s), (y, t)) = (self.columns.get(reg, first), self.columns.get(reg, slot as usize));
                let equal = match op.scalar {
                    // "An ordered-and-equal compare is used" for floats.
                    Scalar::Float(w) => {
                        let (x, y) = (self.number(w, x, s), self.number(w, y, t));
                        // A NaN is equal to nothing; whether the only lane is compared at all is open.
                        let nan = [x, y].contains(&Number::Nan) && members.len() > 1 && self.modes(w).preserve;
                        if nan { Some(false) } else { self.compare(FloatCompare::Equal, w, x, y) }
                    }
                    _ if s | t != 0 => None,
                    _ => Some(x == y),
                };
                result = match (result, equal) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                };
            }
        }
        let (value, taint) = match result {
            Some(value) if worst & POISON == 0 => (value, 0),
            _ if worst != 0 => (false, self.reasons.derived(worst)),
            _ => (false, self.reasons.taint(Why::Implementation, op.inst.place)),
        };
        members.iter().for_each(|&(_, slot)| self.columns.set(out, slot as usize, u64::from(value), taint));
    }

    fn ballot(&mut self, op: &Operation<'_>, members: &Members, x: Reg, outs: &[Reg]) {
        let mut mask = 0u128;
        let mut taints = [0u32; 4];
        for &(lane, slot) in members {
            let (bits, taint) = self.columns.get(x, slot as usize);
            mask |= u128::from(bits & 1) << lane;
            let word = &mut taints[lane as usize / 32];
            *word = (*word).max(taint);
        }
        if self.is(Planted::BallotOfNegation) {
            mask = op.mask & !mask;
        }
        for (word, &out) in outs.iter().enumerate() {
            let taint = self.reasons.derived(taints[word]);
            let bits = (mask >> (32 * word)) as u64 & u64::from(u32::MAX);
            members.iter().for_each(|&(_, slot)| self.columns.set(out, slot as usize, bits, taint));
        }
    }

    /// `OpGroupNonUniformPartitionEXT`: for each lane, those with an equal value.
    fn partition(&mut self, op: &Operation<'_>, members: &Members, ins: &[Reg], outs: &[Reg]) {
        let mut worst = ins[..op.n].iter().map(|&reg| self.worst(reg, members)).max().unwrap_or(0);
        worst = self.reasons.derived(worst);
        let mut is_open = false;
        let key = |this: &Self, slot: u32, is_open: &mut bool| -> Vec<u64> {
            let value = |&reg: &Reg| {
                let bits = this.columns.get(reg, slot as usize).0;
                match op.scalar {
                    Scalar::Float(w) => match this.number(w, bits, 0) {
                        Number::Range(x, y) if x == y => (x + 0.0).to_bits(),
                        _ => {
                            *is_open = true;
                            bits
                        }
                    },
                    _ => bits,
                }
            };
            ins[..op.n].iter().map(value).collect()
        };
        let keys: Vec<Vec<u64>> = members.iter().map(|&(_, slot)| key(self, slot, &mut is_open)).collect();
        if is_open && worst == 0 {
            worst = self.reasons.taint(Why::Implementation, op.inst.place);
        }
        let keys = if self.is(Planted::PartitionIsTangle) { vec![Vec::new(); keys.len()] } else { keys };
        for (at, &(_, slot)) in members.iter().enumerate() {
            let mask =
                keys.iter().zip(members).filter(|(key, _)| **key == keys[at]).fold(0u128, |m, (_, (l, _))| m | 1 << l);
            for (word, &out) in outs.iter().enumerate() {
                let bits = (mask >> (32 * word)) as u64 & u64::from(u32::MAX);
                self.columns.set(out, slot as usize, bits, worst);
            }
        }
    }

    /// An operand that has to be dynamically uniform. An open one is taken as it is; an undefined one makes the result undefined.
    fn same_everywhere(&mut self, op: &Operation<'_>, members: &Members, reg: Reg, what: &str) -> Result<(), Stop> {
        if !op.exact {
            return Ok(());
        }
        let first = self.columns.get(reg, members[0].1 as usize);
        for &(_, slot) in members {
            let (bits, taint) = self.columns.get(reg, slot as usize);
            if taint == 0 && first.1 == 0 && bits != first.0 {
                let slots = members.iter().map(|(_, slot)| *slot).collect();
                let detail = format!("{what} is {} and {bits}", first.0);
                return Err(self.undefined(Rule::NonUniformOperand, op.inst.place, slots, detail));
            }
        }
        Ok(())
    }

    fn check_cluster(&mut self, op: &Operation<'_>, members: &Members) -> Result<(), Stop> {
        if op.cluster == 0 {
            return Ok(());
        }
        if !op.cluster.is_power_of_two() || u32::from(op.cluster) > op.size {
            let slots = members.iter().map(|(_, slot)| *slot).collect();
            let detail = format!("clusters of {}, subgroups of {}", op.cluster, op.size);
            return Err(self.undefined(Rule::ClusterSize, op.inst.place, slots, detail));
        }
        Ok(())
    }

    fn broadcast(&mut self, op: &Operation<'_>, members: &Members, ins: &[Reg], outs: &[Reg]) -> Result<(), Stop> {
        self.same_everywhere(op, members, ins[op.n], "id")?;
        self.shuffle(op, members, ins, outs);
        Ok(())
    }

    /// Everything that takes the value of another lane.
    fn shuffle(&mut self, op: &Operation<'_>, members: &Members, ins: &[Reg], outs: &[Reg]) {
        let size = u64::from(op.size);
        let mut found: Vec<(u64, u32)> = Vec::with_capacity(members.len() * op.n);
        let inactive = self.reasons.taint(Why::InactiveSource, op.inst.place);
        let open = self.reasons.taint(Why::Tangle, op.inst.place);
        // Of an open tangle, any lane of the subgroup may be one.
        let may_be_active = match op.exact || self.is(Planted::OpenSourceIsInactive) {
            true => 0,
            false => self.layout.subgroups[op.subgroup].live,
        };
        for &(lane, slot) in members {
            let own = u64::from(lane);
            let (id, taint) = ins.get(op.n).map_or((0, 0), |&reg| self.columns.get(reg, slot as usize));
            let source = match op.group {
                Group::Shuffle | Group::Broadcast => Some(id),
                Group::ShuffleXor if self.is(Planted::XorMaskOfFirstLane) => {
                    Some(own ^ self.columns.get(ins[op.n], members[0].1 as usize).0)
                }
                Group::ShuffleXor => Some(own ^ id),
                Group::ShuffleUp if self.is(Planted::ShuffleUpIsDown) => own.checked_add(id),
                Group::ShuffleUp => own.checked_sub(id),
                Group::ShuffleDown if self.is(Planted::ShuffleDownWraps) => Some((own + id) % size),
                Group::ShuffleDown => own.checked_add(id),
                Group::Rotate if op.cluster > 0 => {
                    let n = u64::from(op.cluster);
                    Some((own.wrapping_add(id) & (n - 1)) + (own & !(n - 1)))
                }
                Group::Rotate if self.is(Planted::RotateBackwards) => Some(own.wrapping_sub(id) & (size - 1)),
                Group::Rotate => Some(own.wrapping_add(id) & (size - 1)),
                Group::QuadBroadcast if self.is(Planted::QuadBroadcastFromZero) => Some(own & !3),
                Group::QuadBroadcast if id < 4 => Some(own & !3 | id),
                Group::QuadBroadcast => None,
                Group::QuadSwap(direction) => Some(match direction {
                    0 => own ^ 1,
                    1 if self.is(Planted::QuadSwapVerticalIsDiagonal) => own ^ 3,
                    1 => own ^ 2,
                    _ => own ^ 3,
                }),
                _ => None,
            };
            let source = source.filter(|&source| source < size);
            let absent = if source.is_some_and(|source| may_be_active >> source & 1 == 1) { open } else { inactive };
            let source = source.filter(|&source| op.mask >> source & 1 == 1);
            let source =
                source.and_then(|source| members.binary_search_by_key(&(source as u32), |(lane, _)| *lane).ok());
            let derived = if taint != 0 { self.reasons.derived(taint) } else { 0 };
            for &reg in &ins[..op.n] {
                found.push(match source {
                    // One of the values that it may have.
                    Some(at) if derived != 0 => (self.columns.get(reg, members[at].1 as usize).0, derived),
                    None if derived != 0 => (0, derived),
                    Some(at) => self.columns.get(reg, members[at].1 as usize),
                    None if self.is(Planted::InactiveSourceIsOwn) => self.columns.get(reg, slot as usize),
                    None => (0, absent),
                });
            }
        }
        for (at, &(_, slot)) in members.iter().enumerate() {
            for (c, &out) in outs.iter().enumerate() {
                let (bits, taint) = found[at * op.n + c];
                self.columns.set(out, slot as usize, bits, taint);
            }
        }
    }

    /// A ballot of a lane, and the worst taint of the words that hold the bits below the subgroup's size.
    fn mask_operand(&self, op: &Operation<'_>, ins: &[Reg], slot: usize) -> (u128, u32) {
        let (mut mask, mut worst) = (0u128, 0);
        for (word, &reg) in ins[..4].iter().enumerate() {
            let (bits, taint) = self.columns.get(reg, slot);
            mask |= u128::from(bits & u64::from(u32::MAX)) << (32 * word);
            if word == 0 || op.size as usize > 32 * word {
                worst = worst.max(taint);
            }
        }
        let all = if op.size >= 128 { u128::MAX } else { (1 << op.size) - 1 };
        (mask & all, worst)
    }

    /// Operations on ballots, which are functions of each lane's own ballot.
    fn of_ballot(&mut self, op: &Operation<'_>, members: &Members, ins: &[Reg], out: Reg) -> Result<(), Stop> {
        if op.group == Group::InverseBallot {
            let first = self.mask_operand(op, ins, members[0].1 as usize);
            for &(_, slot) in members {
                let (mask, taint) = self.mask_operand(op, ins, slot as usize);
                if op.exact && taint == 0 && first.1 == 0 && mask != first.0 {
                    let slots = members.iter().map(|(_, slot)| *slot).collect();
                    let detail = format!("{:#x} and {mask:#x}", first.0);
                    return Err(self.undefined(Rule::NonUniformBallot, op.inst.place, slots, detail));
                }
            }
        }
        let operands = self.reasons.taint(Why::Operands, op.inst.place);
        // Lanes that are together, or may be, must have one mask; where they may be, an implementation may read that of any of them.
        let masks = |this: &Self, slot: u32| this.mask_operand(op, ins, slot as usize).0;
        let may_differ = op.group == Group::InverseBallot
            && !op.exact
            && members.iter().any(|&(_, slot)| masks(self, slot) != masks(self, members[0].1));
        let of_others = if may_differ { self.reasons.taint(Why::Tangle, op.inst.place) } else { 0 };
        for &(lane, slot) in members {
            let (mask, worst) = self.mask_operand(op, ins, slot as usize);
            let mut taint = if worst != 0 { self.reasons.derived(worst) } else { of_others };
            let value = match op.group {
                Group::InverseBallot => (mask >> lane & 1) as u64,
                Group::BallotBitExtract => {
                    let (index, t) = self.columns.get(ins[4], slot as usize);
                    taint = taint.max(self.reasons.derived(t));
                    if index >= u64::from(op.size) && t == 0 {
                        taint = taint.max(operands);
                        0
                    } else {
                        (mask >> index.min(127) & 1) as u64
                    }
                }
                _ => {
                    // "Only the bits required to represent all bits of the scope restricted tangle are considered": all below the size, those up to the
                    // tangle's last lane, or those of the tangle's lanes. Where that makes a difference the result is open.
                    let upto = u128::MAX >> op.mask.leading_zeros();
                    let value = self.of_mask(op.group, mask, lane);
                    let same = self.of_mask(op.group, mask & upto, lane) == value
                        && self.of_mask(op.group, mask & op.mask, lane) == value;
                    match value {
                        Some(value) if same => value,
                        None if same => {
                            taint = taint.max(if self.is(Planted::NoBitFoundIsZero) { 0 } else { operands });
                            0
                        }
                        _ => {
                            taint = taint.max(self.reasons.taint(Why::Implementation, op.inst.place));
                            value.unwrap_or(0)
                        }
                    }
                }
            };
            self.columns.set(out, slot as usize, value, taint);
        }
        Ok(())
    }

    /// Bit counts and bit numbers; `None` where no bit is set that one is looked for.
    fn of_mask(&self, group: Group, mask: u128, lane: u32) -> Option<u64> {
        let below = (1u128 << lane) - 1;
        match group {
            Group::BallotBitCount(Scan::Inclusive) => Some(u64::from((mask & (below | 1 << lane)).count_ones())),
            Group::BallotBitCount(Scan::Exclusive) if self.is(Planted::ExclusiveCountIsInclusive) => {
                Some(u64::from((mask & (below | 1 << lane)).count_ones()))
            }
            Group::BallotBitCount(Scan::Exclusive) => Some(u64::from((mask & below).count_ones())),
            Group::BallotBitCount(_) => Some(u64::from(mask.count_ones())),
            _ if mask == 0 => None,
            Group::BallotFindLsb if self.is(Planted::FindLsbIsMsb) => Some(u64::from(127 - mask.leading_zeros())),
            Group::BallotFindLsb => Some(u64::from(mask.trailing_zeros())),
            _ => Some(u64::from(127 - mask.leading_zeros())),
        }
    }

    fn fold(
        &mut self,
        op: &Operation<'_>,
        members: &Members,
        (fold, scan): (Fold, Scan),
        ins: &[Reg],
        outs: &[Reg],
    ) -> Result<(), Stop> {
        let mut parts: Vec<Members> = Vec::new();
        let mut spoilt = 0;
        match scan {
            Scan::Clustered => {
                self.check_cluster(op, members)?;
                let n = u32::from(op.cluster).max(1);
                let n = if self.is(Planted::ClusterDoubled) { n * 2 } else { n };
                parts.extend(members.chunk_by(|x, y| x.0 / n == y.0 / n).map(<[_]>::to_vec));
            }
            Scan::PartitionedReduce | Scan::PartitionedInclusive | Scan::PartitionedExclusive => {
                spoilt = self.parts_by_ballot(op, members, &ins[op.n..], &mut parts)?;
            }
            _ => parts.push(members.clone()),
        }
        let scan = match scan {
            Scan::Clustered | Scan::PartitionedReduce => Scan::Reduce,
            Scan::PartitionedInclusive => Scan::Inclusive,
            Scan::PartitionedExclusive => Scan::Exclusive,
            other => other,
        };
        let scan = match (self.fault, scan) {
            (Some(Planted::InclusiveIsExclusive), Scan::Inclusive) => Scan::Exclusive,
            (Some(Planted::ExclusiveIsInclusive), Scan::Exclusive) => Scan::Inclusive,
            (_, scan) => scan,
        };
        for part in &parts {
            for c in 0..op.n {
                if let (Fold::FAdd | Fold::FMul | Fold::FMin | Fold::FMax, Scalar::Float(w)) = (fold, op.scalar) {
                    self.fold_floats(op, part, (fold, scan, w), ins[c], outs[c]);
                } else {
                    self.fold_integers(op, part, (fold, scan), ins[c], outs[c]);
                }
            }
        }
        if spoilt != 0 {
            let taint = self.reasons.derived(spoilt);
            for &out in outs {
                members.iter().for_each(|&(_, slot)| self.columns.set(out, slot as usize, 0, taint));
            }
        }
        Ok(())
    }

    fn fold_integers(&mut self, op: &Operation<'_>, part: &Members, (fold, scan): (Fold, Scan), x: Reg, out: Reg) {
        let w = op.scalar.width();
        let identity = if self.is(Planted::IdentityZero) { 0 } else { alu::identity(fold, w) };
        let planted = match fold {
            Fold::UMax if self.is(Planted::ReduceMaxIsMin) => Fold::UMin,
            fold => fold,
        };
        let mut sum = identity;
        let mut worst = 0;
        let skip_first = self.is(Planted::ReduceAddForgetsFirst) && fold == Fold::Add && part.len() > 1;
        let mut results: Vec<(u64, u32)> = Vec::with_capacity(part.len());
        for (at, &(_, slot)) in part.iter().enumerate() {
            let before = (sum, worst);
            let (bits, taint) = self.columns.get(x, slot as usize);
            if !(skip_first && at == 0) {
                sum = alu::fold(planted, w, sum, bits);
            }
            worst = worst.max(taint);
            results.push(if scan == Scan::Exclusive { before } else { (sum, worst) });
        }
        for (at, &(_, slot)) in part.iter().enumerate() {
            let (bits, taint) = if scan == Scan::Reduce { (sum, worst) } else { results[at] };
            let taint = if taint != 0 { self.reasons.derived(taint) } else { 0 };
            self.columns.set(out, slot as usize, bits, taint);
        }
    }

    /// Sums and products are determined if no order of the operations can round; Vulkan gives no precision for them.
    fn fold_floats(&mut self, op: &Operation<'_>, part: &Members, (fold, scan, w): (Fold, Scan, u8), x: Reg, out: Reg) {
        let values: Vec<(u64, u32)> = part.iter().map(|&(_, slot)| self.columns.get(x, slot as usize)).collect();
        let numbers: Vec<Number> = values.iter().map(|&(bits, taint)| self.number(w, bits, taint)).collect();
        for (at, &(_, slot)) in part.iter().enumerate() {
            let range = match scan {
                Scan::Inclusive => 0..at + 1,
                Scan::Exclusive => 0..at,
                _ => 0..part.len(),
            };
            let worst = values[range.clone()].iter().map(|(_, taint)| *taint).max().unwrap_or(0);
            let (bits, taint) =
                if worst & POISON != 0 { (0, worst) } else { self.fold_numbers(op, &numbers[range], fold, w) };
            self.columns.set(out, slot as usize, bits, taint);
        }
    }

    fn fold_numbers(&mut self, op: &Operation<'_>, numbers: &[Number], fold: Fold, w: u8) -> (u64, u32) {
        let place = op.inst.place;
        if numbers.is_empty() {
            let bits = alu::identity(fold, w);
            let infinite = matches!(fold, Fold::FMin | Fold::FMax);
            let taint = match infinite && !self.modes(w).preserve {
                true => self.reasons.taint(Why::Implementation, place),
                // `SignedZeroInfNanPreserve` says nothing of sums and products of a tangle.
                false if bits == 0 => self.reasons.flipped(Why::Implementation, place, 1 << (w - 1)),
                false => 0,
            };
            return (bits, taint);
        }
        // "If for any two Values one of them is a NaN, the other is chosen" (OpGroupNonUniformFMin).
        let chooses = matches!(fold, Fold::FMin | Fold::FMax) && self.modes(w).preserve;
        let chosen = numbers.iter().filter(|&&number| !(chooses && number == Number::Nan));
        let infinity = |negative: bool| if negative { f64::NEG_INFINITY } else { f64::INFINITY };
        let ends: Option<Vec<(f64, f64)>> = chosen
            .map(|number| match *number {
                Number::Range(low, high) => Some((low, high)),
                Number::Infinite(negative) if chooses => Some((infinity(negative), infinity(negative))),
                _ => None,
            })
            .collect();
        // All of them are NaN.
        let ends = ends.filter(|ends| !ends.is_empty());
        let Some(ends) = ends else { return (0, self.reasons.taint(Why::Implementation, place)) };
        let answer = match fold {
            Fold::FMin | Fold::FMax => {
                let pick = |x: f64, y: f64| if fold == Fold::FMin { x.min(y) } else { x.max(y) };
                let low = ends.iter().map(|end| end.0).reduce(pick).unwrap_or(0.0);
                let high = ends.iter().map(|end| end.1).reduce(pick).unwrap_or(0.0);
                // Zeros of both signs are equal.
                let signs = |end: &(f64, f64)| [end.0, end.1].map(f64::is_sign_negative);
                let mut zeros = ends.iter().filter(|end| **end == (0.0, 0.0)).flat_map(signs);
                let first = zeros.next();
                match low == 0.0 && high == 0.0 && zeros.any(|sign| Some(sign) != first) {
                    true => Answer::Between(-0.0, 0.0),
                    false if low == high && low.is_infinite() => {
                        encode(w, low).map_or(Answer::Open(Why::Precision), Answer::Bits)
                    }
                    false => Answer::Between(low, high),
                }
            }
            _ => {
                let exact: Vec<f64> = ends.iter().filter(|(low, high)| low == high).map(|(low, _)| *low).collect();
                let sum = if exact.len() == ends.len() { self.exact_fold(w, fold, &exact) } else { None };
                match sum.filter(|sum| encode(w, *sum).is_some()) {
                    Some(0.0) => Answer::Between(-0.0, 0.0),
                    Some(sum) => Answer::Between(sum, sum),
                    None => Answer::Open(Why::Precision),
                }
            }
        };
        self.answer(w, answer, place)
    }

    /// The subsets that ballots name. They must be a partition (SPV_NV_shader_subgroup_partitioned); gives the taint of the ballots.
    fn parts_by_ballot(
        &mut self,
        op: &Operation<'_>,
        members: &Members,
        words: &[Reg],
        parts: &mut Vec<Members>,
    ) -> Result<u32, Stop> {
        let mut worst = 0;
        let mut ballots = Vec::with_capacity(members.len());
        for &(_, slot) in members {
            let (mask, taint) = self.mask_operand(op, words, slot as usize);
            worst = worst.max(taint);
            ballots.push(mask & op.mask);
        }
        if worst != 0 || !op.exact {
            parts.push(members.clone());
            return Ok(worst);
        }
        for (at, &(lane, _)) in members.iter().enumerate() {
            let mask = ballots[at];
            let own = mask >> lane & 1 == 1;
            let agree = members.iter().zip(&ballots).all(|((other, _), b)| mask >> other & 1 == 0 || *b == mask);
            if !own || !agree {
                let detail = format!("the ballot of lane {lane} is {mask:#x}");
                let slots = members.iter().map(|(_, slot)| *slot).collect();
                return Err(self.undefined(Rule::Partition, op.inst.place, slots, detail));
            }
            if mask.trailing_zeros() == lane {
                parts.push(members.iter().copied().filter(|(other, _)| mask >> other & 1 == 1).collect());
            }
        }
        Ok(0)
    }

    // ---- barriers ----

    pub(super) fn control_barrier(&mut self, inst: &Inst, barrier: u32) -> Result<(), Stop> {
        let Barrier { workgroup, rule, semantics } = self.code.barriers[barrier as usize];
        let number = inst.d & !GROUP_TAG;
        let layout = self.layout;
        if self.is(Planted::FenceReleasesAll) {
            self.memory.fence_again(&self.active);
        }
        if !workgroup {
            for (s, subgroup) in layout.subgroups.iter().enumerate() {
                let mask = self.mask_of(subgroup);
                if mask == 0 {
                    continue;
                }
                // Who may be missing has come to no barrier.
                let sure = mask & !self.may_be_absent(Group::Elect, s, mask);
                let lanes = subgroup.slots.iter().enumerate().filter(|(lane, _)| sure >> lane & 1 == 1);
                let slots: Vec<u32> = lanes.map(|(_, slot)| *slot).collect();
                let known = self.knows_tangle(number, s, mask);
                if !known && self.lost_may_come(s) {
                    self.taint_lost(semantics.kinds(), inst.place)?;
                }
                self.memory.hand_over(semantics, &slots);
                // Whoever else is there, those of one class are together.
                for part in if known { vec![slots.clone()] } else { self.by_class(&slots) } {
                    self.memory.subgroup_barrier(semantics, &part, layout);
                }
                self.memory.take_over(semantics, &slots);
            }
            return Ok(());
        }
        let mut expected = crate::lanes::Lanes::all(self.n);
        expected.remove(&self.lost);
        let all_come = self.lanes == expected;
        let together = all_come
            && (0..layout.subgroups.len()).all(|s| {
                let mask = self.mask_of(&layout.subgroups[s]);
                mask == 0 || self.is_exact(s, mask)
            });
        if !together || !self.is_one_class() {
            // Nothing says that they are apart where all of them come: the compiler may have taken a construct out that all leave together.
            if all_come && rule == Rule::OncePerWorkgroup {
                return Err(Stop::Undecided(inst.place));
            }
            // Lost invocations may be what keeps the others apart: behind a merge block that not all are known to come to, say.
            if !self.lost.is_empty() {
                return Err(Stop::Undecided(inst.place));
            }
            // "If Execution is Workgroup or larger, behavior is undefined unless all invocations within Execution execute the same dynamic
            // instance of this instruction."
            let detail = format!("{} of {} invocations are together", self.active.len(), self.n);
            let slots = self.active.clone();
            return Err(self.undefined(rule, inst.place, slots, detail));
        }
        if rule == Rule::OncePerWorkgroup {
            return match std::mem::replace(&mut self.has_outputs, true) {
                true => Err(self.undefined(rule, inst.place, self.active.clone(), "it was executed before".into())),
                // It orders nothing, or nothing follows it.
                false => Ok(()),
            };
        }
        let lost = !self.lost.is_empty();
        let taint = if lost { self.reasons.taint(Why::Path, inst.place) } else { 0 };
        if lost {
            self.taint_lost(semantics.kinds(), inst.place)?;
        }
        self.memory.hand_over(semantics, &self.active);
        self.memory.workgroup_barrier(semantics, &self.active, taint, layout);
        self.memory.take_over(semantics, &self.active);
        Ok(())
    }

    /// Lost invocations may come to a barrier: what they may have written before is ordered before what others do behind it, in memory that the
    /// barrier orders, and in any that they have a fence for.
    fn taint_lost(&mut self, orders: Orders, place: u32) -> Result<(), Stop> {
        if self.is(Planted::BarrierHidesLostWrites) {
            return Ok(());
        }
        let kinds = if self.code.fences { [true; 3] } else { orders };
        let taint = self.reasons.taint(Why::Path, place);
        let (first, n, lost) = (self.workgroup * self.n as u32 + 1, self.n, self.lost());
        let is_lost = |who: u32| {
            let slot = who.wrapping_sub(first) as usize;
            slot < n && lost.contains(slot)
        };
        self.steps += self.memory.taint_lost(kinds, is_lost, taint)? / SCALARS_PER_STEP;
        Ok(())
    }
}

/// One execution by one subgroup.
pub(super) struct Operation<'i> {
    pub(super) inst: &'i Inst,
    group: Group,
    pub(super) scalar: Scalar,
    /// Cells of the value.
    pub(super) n: usize,
    cluster: u8,
    /// The lanes that execute it together, bit `k` for lane `k`.
    mask: u128,
    /// `SubgroupSize`, in lanes.
    size: u32,
    /// The mask is certain.
    exact: bool,
    pub(super) subgroup: usize,
    /// Of a derivative: the primitives in which control flow is uniform.
    pub(super) uniform: &'i [bool],
}

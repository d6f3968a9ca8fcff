//! Planted faults: a compiler that makes one mistake. A campaign that does not find it is blind there.
//!
//! A fault rewrites the words of a module that is valid, so that it stays valid but means something else: one instruction of a kind becomes
//! another, the operands of one are swapped, or an instruction moves. SPIR-V 1.6 §2.3 has the layout of words, §3.3 the numbers.

use tangle_files::module::{Instruction, instructions};

/// A fault that is planted in the modules of a compiler.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Its name behind the compiler's: `hlsl@dxc:swap-arms`.
    pub name: &'static str,
    change: Change,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    /// An instruction of the first number becomes one of the second.
    Opcode(u16, u16),
    /// A group operation (Reduce 0, InclusiveScan 1, ExclusiveScan 2) becomes another.
    GroupOperation(u32, u32),
    /// Two operands, by their words, of an instruction of this number.
    Swap(u16, usize, usize),
    /// A selection's first instructions, up to one of a subgroup, move before its branch.
    Hoist,
    /// The last subgroup operation before a selection's branch moves behind it, into the true side.
    Sink,
    /// The last store of a continue target is lost: a loop that counts there does not end.
    LoseStep,
    /// What a merge block begins with, up to an operation of a subgroup and the store of its result, is done at the end of each arm: the lanes do not
    /// come together before it.
    IntoArms,
}

const fn opcode(name: &'static str, from: u16, to: u16) -> Fault {
    Fault { name, change: Change::Opcode(from, to) }
}

const fn swap(name: &'static str, of: u16, first: usize, second: usize) -> Fault {
    Fault { name, change: Change::Swap(of, first, second) }
}

const BRANCH_CONDITIONAL: u16 = 250;
const LOOP_MERGE: u16 = 246;
const SELECTION_MERGE: u16 = 247;
const LABEL: u16 = 248;
const BRANCH: u16 = 249;
const STORE: u16 = 62;
const PHI: u16 = 245;
const NOP: u32 = 1 << 16;

/// Every fault that a device's name can ask for.
pub const FAULTS: &[Fault] = &[
    Fault { name: "exclusive-to-inclusive", change: Change::GroupOperation(2, 1) },
    Fault { name: "reduce-to-inclusive", change: Change::GroupOperation(0, 1) },
    Fault { name: "reduce-to-exclusive", change: Change::GroupOperation(0, 2) },
    Fault { name: "hoist", change: Change::Hoist },
    Fault { name: "sink", change: Change::Sink },
    Fault { name: "merge-into-arms", change: Change::IntoArms },
    Fault { name: "lose-step", change: Change::LoseStep },
    swap("swap-arms", BRANCH_CONDITIONAL, 2, 3),
    swap("swap-select", 169, 4, 5),
    swap("swap-subtraction", 130, 3, 4),
    swap("swap-less-than", 176, 3, 4),
    opcode("add-to-subtract", 128, 130),
    opcode("multiply-to-add", 132, 128),
    opcode("divide-to-modulo", 134, 137),
    opcode("and-to-or", 199, 197),
    opcode("or-to-xor", 197, 198),
    opcode("shift-logical-to-arithmetic", 194, 195),
    opcode("equal-to-not-equal", 170, 171),
    opcode("less-to-less-or-equal", 176, 178),
    opcode("logical-and-to-or", 167, 166),
    opcode("all-to-any", 334, 335),
    opcode("any-to-all", 335, 334),
    opcode("group-add-to-multiply", 349, 351),
    opcode("group-umin-to-umax", 354, 357),
    opcode("group-and-to-or", 359, 360),
    opcode("atomic-add-to-or", 234, 241),
];

impl Fault {
    /// The fault of a name.
    pub fn named(name: &str) -> Option<&'static Fault> {
        FAULTS.iter().find(|fault| fault.name == name)
    }

    /// The module with the mistake at the last place where it can be made; `None` if there is no such place.
    pub fn plant(&self, module: &[u32]) -> Option<Vec<u32>> {
        let mut words = module.to_vec();
        let span = |one: Instruction<'_>| (one.at, one.words.len(), one.opcode() as u16);
        let places: Vec<Span> = instructions(module).flatten().map(span).collect();
        match self.change {
            Change::Opcode(from, to) => {
                let (at, ..) = *places.iter().rev().find(|(_, _, op)| *op == from)?;
                words[at] = words[at] & 0xFFFF_0000 | u32::from(to);
            }
            Change::GroupOperation(from, to) => {
                let is_it = |&&(at, length, op): &&(usize, usize, u16)| {
                    (349..=364).contains(&op) && length > 4 && module.get(at + 4) == Some(&from)
                };
                let (at, ..) = *places.iter().rev().find(is_it)?;
                words[at + 4] = to;
            }
            Change::Swap(of, first, second) => {
                let is_it = |&&(at, length, op): &&(usize, usize, u16)| {
                    op == of && length > first.max(second) && module.get(at + first) != module.get(at + second)
                };
                let (at, ..) = *places.iter().rev().find(is_it)?;
                words.swap(at + first, at + second);
            }
            Change::Hoist => return hoist(module, &places),
            Change::Sink => return sink(module, &places),
            Change::LoseStep => {
                let (at, length, _) = places.iter().rev().filter(|place| place.2 == LOOP_MERGE).find_map(|merge| {
                    let first = beginning(module, &places, module[merge.0 + 2])?;
                    let block =
                        places[first..].iter().take_while(|place| !(BRANCH..=BRANCH_CONDITIONAL).contains(&place.2));
                    block.filter(|place| place.2 == STORE).last().copied()
                })?;
                words[at..at + length].fill(NOP);
            }
            Change::IntoArms => return into_arms(module, &places),
        }
        Some(words)
    }
}

/// Moves what a selection's true side begins with, up to its first subgroup operation, before the selection. Only what reads and computes
/// moves.
fn hoist(module: &[u32], places: &[Span]) -> Option<Vec<u32>> {
    for pair in places.windows(2).rev() {
        let [(merge, _, SELECTION_MERGE), (branch, 4.., BRANCH_CONDITIONAL)] = *pair else { continue };
        let target = module[branch + 2];
        let label = places.iter().position(|&(at, _, op)| op == LABEL && module.get(at + 1) == Some(&target))?;
        let behind = &places[label + 1..];
        let Some(group) = behind.iter().position(|&(_, _, op)| !moves(op)) else { continue };
        let (first, last) = (behind[0].0, behind[group]);
        if !is_group(last.2) || first < branch {
            continue;
        }
        let end = last.0 + last.1;
        let mut words = module[..merge].to_vec();
        words.extend(&module[first..end]);
        words.extend(&module[merge..first]);
        words.extend(&module[end..]);
        return Some(words);
    }
    None
}

/// Loads, access chains, composites, conversions and arithmetic.
fn moves(op: u16) -> bool {
    matches!(op, 61 | 65 | 79..=84 | 109..=124 | 126..=205)
}

fn is_group(op: u16) -> bool {
    (333..=366).contains(&op)
}

type Span = (usize, usize, u16);

/// True if an instruction has this word among its operands.
fn mentions(module: &[u32], &(at, length, _): &Span, id: u32) -> bool {
    length > 1 && module[at + 1..at + length].contains(&id)
}

/// Where the block of a label begins, behind its label and its phis.
fn beginning(module: &[u32], places: &[Span], label: u32) -> Option<usize> {
    let block = places.iter().position(|&(at, _, op)| op == LABEL && module.get(at + 1) == Some(&label))? + 1;
    Some(block + places[block..].iter().take_while(|(_, _, op)| *op == PHI).count())
}

/// Moves a subgroup operation, and what stores its result, from before a selection into its true side. Nothing else may use the result.
fn sink(module: &[u32], places: &[Span]) -> Option<Vec<u32>> {
    for (merge, pair) in places.windows(2).enumerate().rev() {
        let [(at, _, SELECTION_MERGE), (branch, 4.., BRANCH_CONDITIONAL)] = *pair else { continue };
        let (target, end) = (module[branch + 2], module[at + 1]);
        let block = places[..merge].iter().rposition(|&(_, _, op)| op == LABEL)?;
        let before = &places[block..merge];
        let Some(group) = before.windows(2).rposition(|pair| is_group(pair[0].2) && pair[1].2 == STORE) else {
            continue;
        };
        let (operation, store) = (before[group], before[group + 1]);
        let result = module[operation.0 + 2];
        let uses = places.iter().filter(|place| mentions(module, place, result)).count();
        let into = beginning(module, places, target).filter(|&into| into > merge);
        let (Some(into), 2, true) = (into, uses, module[store.0 + 2] == result && target != end) else { continue };
        let (first, last, into) = (operation.0, store.0 + store.1, places[into].0);
        return Some([&module[..first], &module[last..into], &module[first..last], &module[into..]].concat());
    }
    None
}

/// Moves the beginning of a merge block into the arms, each of which gets a copy with ids of its own. None of the results may be used behind it.
fn into_arms(module: &[u32], places: &[Span]) -> Option<Vec<u32>> {
    for &(at, _, _) in places.iter().rev().filter(|(_, _, op)| *op == SELECTION_MERGE) {
        let merge = module[at + 1];
        let is_edge = |place: &&Span| place.2 == BRANCH && module[place.0 + 1] == merge;
        let ends: Vec<usize> = places.iter().filter(is_edge).map(|place| place.0).collect();
        let mentioned = places.iter().filter(|place| (249..=251).contains(&place.2) && mentions(module, place, merge));
        let Some(begin) = beginning(module, places, merge) else { continue };
        // Its label is named by its header and by the arms alone; there are no phis.
        if ends.len() < 2 || mentioned.count() != ends.len() || places[begin - 1].2 != LABEL {
            continue;
        }
        let Some(length) = places[begin..].iter().position(|&(_, _, op)| !moves(op)) else { continue };
        let [(_, _, group), (store, size, STORE), ..] = places[begin + length..] else { continue };
        let moved = &places[begin..begin + length + 1];
        let results: Vec<u32> = moved.iter().map(|&(at, ..)| module[at + 2]).collect();
        let behind = &places[begin + length + 2..];
        let stays = |id: &u32| behind.iter().any(|place| mentions(module, place, *id));
        if !is_group(group) || results.iter().any(stays) || ends.iter().any(|&end| end > places[begin].0) {
            continue;
        }
        let (first, last) = (places[begin].0, store + size);
        let mut words = Vec::with_capacity(module.len() + ends.len() * (last - first));
        let (mut from, mut bound) = (0, module[3]);
        for end in ends {
            words.extend(&module[from..end]);
            for &(at, length, _) in &places[begin..begin + moved.len() + 1] {
                words.push(module[at]);
                let renamed = |word: &u32| results.iter().position(|id| id == word).map_or(*word, |k| bound + k as u32);
                words.extend(module[at + 1..at + length].iter().map(renamed));
            }
            bound += results.len() as u32;
            from = end;
        }
        words.extend(&module[from..first]);
        words.extend(&module[last..]);
        words[3] = bound;
        return Some(words);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_changes_are_changes() {
        for (at, fault) in FAULTS.iter().enumerate() {
            assert!(FAULTS[..at].iter().all(|other| other.name != fault.name), "{}", fault.name);
            assert!(Fault::named(fault.name).is_some());
        }
        // OpIAdd %1 %2 %3 %4, behind a header.
        let module = [0x0723_0203, 0x0001_0300, 0, 9, 0, 5 << 16 | 128, 1, 2, 3, 4];
        let planted = Fault::named("add-to-subtract").and_then(|fault| fault.plant(&module)).expect("there is a place");
        assert_eq!(planted[5], 5 << 16 | 130);
        assert_eq!(Fault::named("swap-arms").and_then(|fault| fault.plant(&module)), None);
        assert_eq!(Fault::named("add-to-subtract").and_then(|fault| fault.plant(&[1, 2])), None);
    }
}

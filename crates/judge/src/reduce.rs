//! Makes a module small that a device fails on.
//!
//! In: a module, and what has to stay true of it. Out: a smaller one. Each step is tried, and kept if the result is valid and `keeps` says so: that it
//! still fails, and has no undefined behaviour.
//!
//! | step | |
//! |---|---|
//! | instructions go | in runs, halved down to one; names, lines and decorations with what they belong to |
//! | a branch or switch becomes a jump | to each of its targets; blocks that nothing reaches any more go |
//! | a block becomes part of the one before it; merge instructions that nothing needs any more go, and functions that nobody calls | |
//! | a value becomes a constant | null, or true: `OpCopyObject` of it, so that what it was computed from can go |

use std::collections::{BTreeSet, HashSet};
use std::time::Instant;

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind};
use tangle_program::case::SpirvVersion;
use tangle_runner::toolchain;

use crate::edit::{Instructions, instruction, op, opcode};

/// Modules that are tried at most.
const TRIES: u32 = 20_000;

/// A smaller module of which `keeps` is true, as it is of this one: the best that is found before the deadline. The words themselves if they are no module.
pub fn reduce(words: &[u32], deadline: Option<Instant>, keeps: &mut dyn FnMut(&[u32]) -> bool) -> Vec<u32> {
    let Some(best) = Instructions::read(words) else { return words.to_vec() };
    let mut reducer = Reducer { best, keeps, left: TRIES, deadline };
    loop {
        let before = cost(&reducer.best.list);
        reducer.instructions();
        reducer.branches();
        reducer.blocks();
        reducer.values();
        reducer.globals();
        if cost(&reducer.best.list) >= before || reducer.left == 0 {
            return reducer.best.words();
        }
    }
}

struct Reducer<'a> {
    best: Instructions,
    keeps: &'a mut dyn FnMut(&[u32]) -> bool,
    left: u32,
    deadline: Option<Instant>,
}

/// What is made smaller. Constants count for nothing, and copies, which values become, for little.
fn cost(list: &[Vec<u32>]) -> usize {
    let of = |words: &Vec<u32>| match opcode(words) {
        op::CONSTANT_TRUE | op::CONSTANT | op::CONSTANT_NULL => 0,
        op::COPY_OBJECT => 1,
        _ => 2,
    };
    list.iter().map(of).sum()
}

/// Type and result of an instruction, where it has them.
fn result(words: &[u32]) -> (Option<u32>, Option<u32>) {
    let operands = INSTRUCTION_TABLE.lookup_opcode(opcode(words)).map(|inst| inst.operands).unwrap_or_default();
    let at = |wanted: OperandKind| {
        let place = operands.iter().take(2).position(|operand| operand.kind == wanted)?;
        words.get(place + 1).copied()
    };
    (at(OperandKind::IdResultType), at(OperandKind::IdResult))
}

/// Belongs to an id, or to a place, and says nothing by itself.
fn is_note(words: &[u32]) -> bool {
    matches!(opcode(words), op::NAME | op::MEMBER_NAME | op::LINE | op::NO_LINE | op::DECORATE | op::MEMBER_DECORATE)
}

/// Holds the control-flow graph together.
fn is_structure(words: &[u32]) -> bool {
    let number = opcode(words);
    let flow = op::LOOP_MERGE..=op::UNREACHABLE;
    matches!(number, op::FUNCTION | op::FUNCTION_PARAMETER | op::FUNCTION_END) || flow.contains(&number)
}

impl Reducer<'_> {
    /// True if this is better, which it is from then on.
    fn accept(&mut self, list: Vec<Vec<u32>>) -> bool {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.left = 0;
        }
        if self.left == 0 || cost(&list) >= cost(&self.best.list) {
            return false;
        }
        self.left -= 1;
        let words = Instructions { header: self.best.header, list: list.clone() }.words();
        let good = toolchain::validate(&words, SpirvVersion::V1_6).is_ok() && (self.keeps)(&words);
        if good {
            self.best.list = list;
        }
        good
    }

    /// Without these instructions, and what belongs to their results.
    fn without(&self, gone: &BTreeSet<usize>) -> Vec<Vec<u32>> {
        let list = &self.best.list;
        let ids: HashSet<u32> = gone.iter().filter_map(|&at| result(&list[at]).1).collect();
        let belongs = |words: &[u32]| {
            is_note(words) && ![op::LINE, op::NO_LINE].contains(&opcode(words)) && ids.contains(&words[1])
        };
        let kept = list.iter().enumerate().filter(|(at, words)| !gone.contains(at) && !belongs(words));
        kept.map(|(_, words)| words.clone()).collect()
    }

    /// Takes away runs of what may go, from the end, where what uses a value stands behind it.
    fn runs(&mut self, may_go: impl Fn(&Instructions) -> Vec<usize>) {
        let mut size = may_go(&self.best).len();
        while size > 0 {
            let mut end = may_go(&self.best).len();
            while end > 0 {
                let candidates = may_go(&self.best);
                let end_now = end.min(candidates.len());
                let gone = candidates[end_now.saturating_sub(size)..end_now].iter().copied().collect();
                self.accept(self.without(&gone));
                end = end_now.saturating_sub(size);
            }
            size /= 2;
        }
    }

    fn instructions(&mut self) {
        self.runs(|module| {
            let first = module.first_function();
            let may_go = |at: &usize| *at >= first && !is_structure(&module.list[*at]);
            (0..module.list.len()).filter(may_go).collect()
        });
    }

    /// Names and lines, and what no other instruction names.
    fn globals(&mut self) {
        self.runs(|module| {
            let first = module.first_function();
            let is_text = |words: &[u32]| {
                let number = opcode(words);
                is_note(words) && number < op::DECORATE || op::TEXT.contains(&number)
            };
            (0..first).filter(|&at| is_text(&module.list[at])).collect()
        });
        self.runs(|module| {
            let first = module.first_function();
            // A literal that looks like the id keeps it, too.
            let used = module.list.iter().filter(|words| !is_note(words)).flat_map(|words| {
                let own = result(words).1;
                words[1..].iter().copied().filter(move |word| Some(*word) != own)
            });
            let used: HashSet<u32> = used.collect();
            let is_unused = |at: &usize| result(&module.list[*at]).1.is_some_and(|id| !used.contains(&id));
            (0..first).filter(is_unused).collect()
        });
    }

    fn branches(&mut self) {
        let mut at = 0;
        while at < self.best.list.len() {
            let words = &self.best.list[at];
            let targets: Vec<u32> = match opcode(words) {
                op::BRANCH_CONDITIONAL => words[2..4].to_vec(),
                // The default, and whatever else is the id of a block.
                op::SWITCH => words[2..].to_vec(),
                _ => Vec::new(),
            };
            for target in targets {
                let mut list = self.best.list.clone();
                list[at] = instruction(op::BRANCH, &[target]);
                if at > 0 && opcode(&list[at - 1]) == op::SELECTION_MERGE {
                    list.remove(at - 1);
                }
                if self.accept(reachable(list)) {
                    break;
                }
            }
            at += 1;
        }
    }

    fn blocks(&mut self) {
        let mut at = self.best.list.len();
        while at > self.best.first_function() {
            at = (at - 1).min(self.best.list.len() - 1);
            let list = &self.best.list;
            let words = &list[at];
            match opcode(words) {
                op::LOOP_MERGE | op::SELECTION_MERGE => {
                    let mut list = list.clone();
                    list.remove(at);
                    self.accept(reachable(list));
                }
                op::BRANCH if list.get(at + 1).is_some_and(|next| *next == instruction(op::LABEL, &[words[1]])) => {
                    let (gone, before) = (words[1], list[..at].iter().rfind(|words| opcode(words) == op::LABEL));
                    let Some(label) = before.map(|words| words[1]) else { continue };
                    let mut list = list.clone();
                    list.drain(at..at + 2);
                    for words in list.iter_mut().filter(|words| opcode(words) == op::PHI) {
                        words[3..].iter_mut().filter(|word| **word == gone).for_each(|word| *word = label);
                    }
                    self.accept(list);
                }
                op::FUNCTION => {
                    let end = list[at..].iter().position(|words| opcode(words) == op::FUNCTION_END);
                    let gone = (at..=at + end.unwrap_or(0)).collect();
                    self.accept(self.without(&gone));
                }
                _ => {}
            }
        }
    }

    fn values(&mut self) {
        let mut at = self.best.list.len();
        while at > self.best.first_function() {
            at -= 1;
            let Some(words) = self.best.list.get(at) else { continue };
            let (Some(ty), Some(id)) = result(words) else { continue };
            if is_structure(words) || matches!(opcode(words), op::COPY_OBJECT | op::PHI | op::VARIABLE) {
                continue;
            }
            for constant in [op::CONSTANT_NULL, op::CONSTANT_TRUE] {
                let before = (self.best.header, self.best.list.clone());
                let value = self.best.plain_constant(constant, ty);
                let mut list = self.best.list.clone();
                let now = at + list.len() - before.1.len();
                list[now] = instruction(op::COPY_OBJECT, &[ty, id, value]);
                self.best.list.clone_from(&before.1);
                if self.accept(list) {
                    at = now;
                    break;
                }
                self.best.header = before.0;
            }
        }
    }
}

/// Without blocks that nothing reaches, and what phis took from them.
fn reachable(list: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    let labels: HashSet<u32> = list.iter().filter(|words| opcode(words) == op::LABEL).map(|words| words[1]).collect();
    let mut block = None;
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut entries = Vec::new();
    for (at, words) in list.iter().enumerate() {
        match opcode(words) {
            op::LABEL => {
                let is_first = |words: &Vec<u32>| matches!(opcode(words), op::FUNCTION | op::FUNCTION_PARAMETER);
                if at > 0 && is_first(&list[at - 1]) {
                    entries.push(words[1]);
                }
                block = Some(words[1]);
            }
            op::LOOP_MERGE..=op::UNREACHABLE => {
                let named = words[1..].iter().filter(|word| labels.contains(word));
                edges.extend(named.filter_map(|&to| Some((block?, to))));
            }
            _ => {}
        }
    }
    let mut reached: HashSet<u32> = HashSet::new();
    while let Some(block) = entries.pop() {
        if reached.insert(block) {
            entries.extend(edges.iter().filter(|(from, _)| *from == block).map(|(_, to)| *to));
        }
    }
    let jumps: HashSet<(u32, u32)> = list
        .iter()
        .scan(None, |block, words| {
            if opcode(words) == op::LABEL {
                *block = Some(words[1]);
            }
            Some((*block, words))
        })
        .filter(|(_, words)| matches!(opcode(words), op::BRANCH | op::BRANCH_CONDITIONAL | op::SWITCH))
        .flat_map(|(block, words)| words[1..].iter().filter_map(move |&to| Some((block?, to))))
        .collect();
    let (mut kept, mut block, mut inside) = (Vec::new(), 0, true);
    for mut words in list {
        match opcode(&words) {
            op::LABEL => {
                block = words[1];
                inside = reached.contains(&block);
            }
            op::FUNCTION | op::FUNCTION_END => inside = true,
            op::PHI => {
                let pairs: Vec<u32> = words[3..]
                    .chunks_exact(2)
                    .filter(|pair| reached.contains(&pair[1]) && jumps.contains(&(pair[1], block)))
                    .flatten()
                    .copied()
                    .collect();
                words = instruction(op::PHI, &[&words[1..3], &pairs].concat());
            }
            _ => {}
        }
        if inside {
            kept.push(words);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Device, Made, Ready};
    use crate::run::{Inputs, judge};
    use tangle_interpreter::End;
    use tangle_interpreter::faults::Planted;
    use tangle_program::case::Stage;

    #[test]
    fn a_failing_module_becomes_small_and_stays_defined() {
        let glsl = "#version 450
            #extension GL_KHR_shader_subgroup_basic : require
            #extension GL_KHR_shader_subgroup_ballot : require
            layout(local_size_x = 32) in;
            layout(set = 0, binding = 0) buffer A { uint a[]; };
            uint f(uint x) { if (x > 3u) return x * 7u; switch (x) { case 1u: x++; break; default: x += 2u; } return x; }
            void main() {
                uint i = gl_LocalInvocationIndex;
                uint sum = 0u;
                for (uint k = 0u; k < 5u; k++) { sum += f(k) * i; if ((sum & 1u) == 0u) continue; sum ^= a[i]; }
                if (i / 4u > 100u) sum = 1u / sum;
                a[i] = sum;
                a[i + 32u] = subgroupBallotFindLSB(subgroupBallot(true)) + (subgroupElect() ? 1u : 0u);
            }";
        let words = toolchain::compile_with_lines(glsl, Stage::Compute, SpirvVersion::V1_3).unwrap();
        let inputs = Inputs::default();
        let device =
            Device::Interpreter { name: "faulty".into(), subgroup_size: 8, fault: Some(Planted::ElectHighest) };
        let mut tried = 0;
        let mut keeps = |words: &[u32]| {
            tried += 1;
            let Ok(judged) = judge(words, &inputs) else { return false };
            let Ok(ready) = Ready::new(words, &inputs, &judged.interface) else { return false };
            judged.outcome.end == End::Completed && matches!(device.judge(&ready), Made::Wrong { .. })
        };
        assert!(keeps(&words));
        let small = reduce(&words, None, &mut keeps);
        let count = |words: &[u32]| {
            let module = Instructions::read(words).unwrap();
            module.list.len() - module.first_function()
        };
        assert!(keeps(&small) && toolchain::validate(&small, SpirvVersion::V1_6).is_ok());
        println!("{} instructions of {}, {tried} tried", count(&small), count(&words));
        println!("{}", toolchain::disassemble(&small).unwrap());
        assert!(count(&small) < 16 && count(&words) > 90);
    }
}

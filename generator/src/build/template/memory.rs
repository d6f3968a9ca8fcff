//! Shared memory and arrays in a storage buffer: values through slots and barriers, counters and reductions by atomics.
//!
//! These stand at the top level of `main` while control flow is uniform in the workgroup, because `barrier()` needs that
//! ([`tangle_analysis::races`]); what is between two barriers diverges as it likes. Each brings an array of its own, so that no two
//! ways of using one can meet.

use tangle_analysis::races::may_synchronise_after;
use tangle_program::memory::{ArrayId, AtomicOp, MAX_SHARED_BYTES, Shared, StorageClass, Sync};
use tangle_program::ops::{BinaryOp, UnaryOp};
use tangle_program::subgroup::{Category, Fold, SubgroupOp};
use tangle_program::tree::{Atomic, Block, Builtin, Expr, Load, LoopKind, Stmt, SubgroupCall, VarId, first_own};
use tangle_program::types::{Scalar, Type};

use super::super::Builder;
use super::super::cond::Cond;
use super::super::control::LoopHead;
use super::super::frame::{Cost, Role, Source};
use super::super::log::Moment;
use super::super::term::{as_number, bin, cast, lane, uint};
use crate::class::{Class, Decision};
use crate::weights::LoopForm;

/// What one of these costs at least, by the bounds of its loops.
const LEAST: Cost = Cost { words: 8, steps: 80 };

fn local_index() -> Expr {
    Expr::Builtin(Builtin::LocalIndex)
}

/// The index of the subgroup's first invocation: every subgroup has its own.
fn token() -> Expr {
    Expr::subgroup(SubgroupOp::BroadcastFirst, [local_index()])
}

fn elect() -> Cond {
    Cond { expr: Expr::subgroup(SubgroupOp::Elect, []), decision: Decision::Divergent, source: Source::Other }
}

impl Builder<'_> {
    /// True if a barrier may stand behind these statements of `main`.
    pub(crate) fn may_synchronise(&self, main: &Block) -> bool {
        self.frame.affords(LEAST)
            && may_synchronise_after(&self.shared, &self.functions, self.config.tier, &self.entry_point, main)
    }

    /// One of the shapes.
    pub(crate) fn shared_memory(&mut self, out: &mut Block) {
        let exact = self.frame.flow.is_exact() && self.has(SubgroupOp::BroadcastFirst);
        let weights = [
            (5, Self::exchange as fn(&mut Self, &mut Block)),
            (if self.affordable_trips() >= 4 { 4 } else { 0 }, Self::exchange_in_loop),
            (6, Self::single_stores),
            (6, Self::stores_beside_each_other),
            (5, Self::loads_in_branches),
            (6, Self::scattered_atomics),
            (6, Self::tickets),
            (if exact && self.has(SubgroupOp::Reduce(Fold::Max)) { 4 } else { 0 }, Self::reduced_atomic),
            (if exact { 6 } else { 0 }, Self::counted_compaction),
            (if exact && self.has(SubgroupOp::Reduce(Fold::Max)) { 3 } else { 0 }, Self::scanned_compaction),
            (if exact { 3 } else { 0 }, Self::elected_load),
            (if exact { 6 } else { 0 }, Self::subgroup_exchange),
        ];
        self.draw.weighted(&weights)(self, out);
    }

    // --- parts ---

    /// A new array, if there is room.
    fn array(&mut self, len: u32, init: u32) -> Option<(ArrayId, Type)> {
        let wide = self.config.shared_int64_atomics && self.config.scalars.contains(&Scalar::Int64);
        let kinds = [
            (6, Scalar::Uint),
            (3, Scalar::Int),
            (if wide { 1 } else { 0 }, Scalar::Uint64),
            (if wide { 1 } else { 0 }, Scalar::Int64),
        ];
        let scalar = self.draw.weighted(&kinds);
        self.array_of(scalar, len, init)
    }

    /// The same, perhaps of elements of 8 or 16 bits: without atomics.
    fn plain_array(&mut self, len: u32, init: u32) -> Option<(ArrayId, Type)> {
        let narrow: Vec<Scalar> =
            self.config.scalars.iter().copied().filter(|scalar| scalar.is_integer() && scalar.size() < 32).collect();
        if narrow.is_empty() || self.draw.percent(65) {
            return self.array(len, init);
        }
        let scalar = self.draw.pick(&narrow);
        self.array_of(scalar, len, init)
    }

    fn array_of(&mut self, scalar: Scalar, len: u32, init: u32) -> Option<(ArrayId, Type)> {
        self.array_of_parts(scalar, len, init, 1)
    }

    /// The same with so many elements for each invocation.
    fn array_of_parts(&mut self, scalar: Scalar, len: u32, init: u32, parts: u32) -> Option<(ArrayId, Type)> {
        let (in_buffers, percent) = match scalar.size() {
            size @ (8 | 16) => (self.config.narrow_storage.contains(&size), 65),
            _ => (true, 35),
        };
        let in_buffer = self.draw.percent(percent) && in_buffers;
        let storage = if in_buffer { StorageClass::StorageBuffer } else { StorageClass::Workgroup };
        let array = Shared { name: format!("s{}", self.shared.len()), scalar, len, init, parts, storage };
        let used: u64 = self.shared.iter().map(Shared::bytes).sum();
        if used + array.bytes() > MAX_SHARED_BYTES {
            return None;
        }
        self.shared.push(array);
        Some(((self.shared.len() - 1) as ArrayId, Type::scalar(scalar)))
    }

    fn barrier_here(&mut self, out: &mut Block) {
        if self.draw.percent(15) {
            let fence = self.draw.pick(&[Sync::MemoryShared, Sync::GroupMemory, Sync::Memory, Sync::MemoryBuffer]);
            out.push(Stmt::ControlBarrier(fence));
        }
        self.frame.charge(Cost { words: 0, steps: 2 });
        out.push(Stmt::ControlBarrier(Sync::Barrier));
    }

    fn store(&mut self, array: ArrayId, value: Expr) -> Stmt {
        self.frame.charge(Cost { words: 0, steps: 1 });
        Stmt::Store { array, element: None, value }
    }

    fn store_to(&mut self, array: ArrayId, element: Expr, value: Expr) -> Stmt {
        self.frame.charge(Cost { words: 0, steps: 1 });
        Stmt::Store { array, element: Some(element), value }
    }

    fn load(&self, array: ArrayId, index: Expr) -> Expr {
        let scalar = self.shared[array as usize].scalar;
        Expr::Load(Load { array, scalar, index: Box::new(index) })
    }

    /// `op(array[index], value)`
    fn atomic(&mut self, op: AtomicOp, array: ArrayId, index: Expr, value: Expr, dest: Option<VarId>) -> Stmt {
        self.frame.charge(Cost { words: 0, steps: 1 });
        let scalar = self.shared[array as usize].scalar;
        let compare = (op == AtomicOp::CompSwap).then(|| as_number(scalar, uint(self.shared[array as usize].init)));
        if let Some(dest) = dest {
            self.frame.forget(dest);
        }
        Stmt::Atomic(Box::new(Atomic { op, array, index, compare, value, dest }))
    }

    /// An index below `len`, from any word.
    fn wrapped(word: Expr, len: u32) -> Expr {
        if len.is_power_of_two() {
            bin(BinaryOp::BitAnd, word, uint(len - 1))
        } else {
            bin(BinaryOp::Mod, word, uint(len))
        }
    }

    /// The slot of another invocation.
    fn other_slot(&mut self, len: u32) -> Expr {
        match self.draw.below(4) {
            0 => bin(BinaryOp::Sub, uint(len - 1), local_index()),
            1 => {
                let word = self.own_value(Type::UINT);
                Self::wrapped(word, len)
            }
            _ => {
                let by = uint(self.draw.pick(&[1, 2, 3, 5, 8, 16]));
                Self::wrapped(bin(BinaryOp::Add, local_index(), by), len)
            }
        }
    }

    /// A variable with what an element holds, and a log of it.
    fn read(&mut self, array: ArrayId, index: Expr, out: &mut Block) -> VarId {
        let ty = self.shared[array as usize].ty();
        let var = self.result_variable(ty, Class::Unpredictable);
        let value = self.load(array, index);
        self.set(var, value, out);
        self.log(vec![Expr::Var(var)], out);
        var
    }

    /// Elements beside each other, from one that begins a word, put together: what a compiler loads at once.
    fn beside_each_other(&mut self, array: ArrayId, len: u32) -> Option<Expr> {
        let scalar = self.shared[array as usize].scalar;
        let count = 32 / scalar.size();
        if count < 2 || len < count {
            return None;
        }
        let word = match self.draw.below(3) {
            0 => local_index(),
            1 => self.constant_word(),
            _ => self.own_value(Type::UINT),
        };
        let first = bin(BinaryOp::Mul, Self::wrapped(word, len / count), uint(count));
        let part = |b: &Self, k: u32| {
            let index = if k == 0 { first.clone() } else { bin(BinaryOp::Add, first.clone(), uint(k)) };
            let value = cast(Scalar::Uint, b.load(array, index));
            if k == 0 { value } else { bin(BinaryOp::Shl, value, uint(k * scalar.size())) }
        };
        Some((1..count).fold(part(self, 0), |sum, k| bin(BinaryOp::Add, sum, part(self, k))))
    }

    /// A function of a value that comes to the same in any order, and a first value that shows its effect.
    fn commutative(&mut self) -> (AtomicOp, u32) {
        self.draw.pick(&[
            (AtomicOp::Add, 0),
            (AtomicOp::Max, 0),
            (AtomicOp::Min, 0x7FFF_FFFF),
            (AtomicOp::Or, 0),
            (AtomicOp::Xor, 5),
            (AtomicOp::And, 0xFFFF_FFFF),
        ])
    }

    /// The slot of a lane of the tangle that is here, which holds for any tangle ([`Load::is_of_peer`]).
    fn peer_slot(&mut self, len: u32) -> Expr {
        let clusters = self.config.categories.contains(&Category::Clustered);
        let of = |op, cluster| Expr::Subgroup(SubgroupCall { op, args: vec![local_index()], cluster });
        let fold = self.draw.pick(&[Fold::Min, Fold::Max]);
        let weights = [2, 3, 2, if clusters { 3 } else { 0 }, if clusters && len.is_power_of_two() { 6 } else { 0 }];
        let (op, cluster) = match self.draw.index(weights.into_iter()) {
            1 => (SubgroupOp::Reduce(fold), None),
            2 => (SubgroupOp::Inclusive(fold), None),
            3 if self.sure_size() >= 4 => (SubgroupOp::Clustered(fold), Some(4)),
            // Of a pair of lanes the other one, if it is there.
            4 if self.sure_size() >= 2 && self.has(SubgroupOp::Clustered(Fold::Min)) => {
                let [least, greatest] = [Fold::Min, Fold::Max].map(|fold| of(SubgroupOp::Clustered(fold), Some(2)));
                return bin(BinaryOp::BitXor, bin(BinaryOp::BitXor, least, greatest), local_index());
            }
            _ => (SubgroupOp::BroadcastFirst, None),
        };
        if self.has(op) { of(op, cluster) } else { token() }
    }

    fn subgroup_barrier_here(&mut self, out: &mut Block) {
        self.frame.charge(Cost { words: 0, steps: 1 });
        out.push(Stmt::SubgroupBarrier(SubgroupOp::Barrier));
    }

    /// Lanes write their own slots: all of them, or with a probability of `percent` those for which a condition holds.
    fn store_of_lanes(&mut self, array: ArrayId, ty: Type, percent: u32, out: &mut Block) {
        if self.draw.percent(percent) {
            let cond = self.own_condition();
            let stmt = self.branch(
                cond,
                |b| {
                    let value = b.own_value(ty);
                    vec![b.store(array, value)]
                },
                |_| Vec::new(),
            );
            out.push(stmt);
        } else {
            let value = self.own_value(ty);
            let store = self.store(array, value);
            out.push(store);
        }
    }

    // --- shapes ---

    /// Everybody writes a slot and reads another one.
    fn exchange(&mut self, out: &mut Block) {
        let len = self.entry_point.group_size();
        let Some((array, ty)) = self.plain_array(len, 7) else { return self.assignment(out) };
        self.store_of_lanes(array, ty, 30, out);
        self.barrier_here(out);
        let index = self.other_slot(len);
        let var = self.read(array, index, out);
        if let Some(word) = self.beside_each_other(array, len) {
            let whole = self.result_variable(Type::UINT, Class::Unpredictable);
            self.set(whole, word, out);
            self.log(vec![Expr::Var(whole)], out);
        }
        // Pooling over the neighbours: what a subgroup makes of what came from another.
        if self.draw.percent(50) && self.has(SubgroupOp::Reduce(Fold::Max)) {
            let clustered = self.config.categories.contains(&Category::Clustered) && self.sure_size() >= 4;
            let op = if clustered { SubgroupOp::Clustered(Fold::Max) } else { SubgroupOp::Reduce(Fold::Max) };
            let cluster = clustered.then_some(4);
            let pooled = self.result_variable(ty, Class::Unpredictable);
            let call = SubgroupCall { op, args: vec![Expr::Var(var)], cluster };
            self.keep(pooled, Expr::Subgroup(call), out);
        }
    }

    /// Single invocations write their slots, and everybody reads them: the address is the same in all lanes that are there.
    fn single_stores(&mut self, out: &mut Block) {
        let len = self.entry_point.group_size();
        let Some((array, ty)) = self.plain_array(len, 9) else { return self.assignment(out) };
        let writers: Vec<u32> = (0..self.draw.range(1, 3)).map(|_| self.draw.below(len)).collect();
        for &writer in &writers {
            let expr = bin(BinaryOp::Eq, local_index(), uint(writer));
            let single = Cond { expr, decision: Decision::Divergent, source: Source::Local };
            let stmt = self.branch(
                single,
                |b| {
                    let value = b.own_value(ty);
                    vec![b.store(array, value)]
                },
                |_| Vec::new(),
            );
            out.push(stmt);
        }
        self.barrier_here(out);
        let first = writers.first().copied().unwrap_or(0);
        self.read(array, uint(first), out);
        let index = self.other_slot(len);
        self.read(array, index, out);
    }

    /// What everybody has written is read by variable indices in the arms of branches, narrow and wide.
    fn loads_in_branches(&mut self, out: &mut Block) {
        let len = self.entry_point.group_size();
        let Some((array, ty)) = self.plain_array(len, 3) else { return self.assignment(out) };
        self.store_of_lanes(array, ty, 20, out);
        self.barrier_here(out);
        let load = |b: &mut Self| {
            let index = b.other_slot(len);
            b.load(array, index)
        };
        self.loaded_in_arms(ty, load, out);
    }

    /// The same from a buffer that nothing writes.
    pub(crate) fn guarded_loads(&mut self, out: &mut Block) {
        let load = |b: &mut Self| {
            let (count, invocations) = (b.data.inputs.len() as u32, b.entry_point.invocations());
            let word = match b.draw.below(3) {
                0 => bin(BinaryOp::Add, b.own_value(Type::UINT), uint(1)),
                1 => bin(BinaryOp::Add, lane(), uint(b.draw.pick(&[1, 2, 5]))),
                _ => b.own_value(Type::UINT),
            };
            Expr::InputOf(b.draw.below(count), Box::new(Self::wrapped(word, invocations)))
        };
        self.loaded_in_arms(Type::UINT, load, out);
    }

    /// A few branches that load to one variable in the one arm, the other, or both; a log.
    fn loaded_in_arms(&mut self, ty: Type, load: impl Fn(&mut Self) -> Expr, out: &mut Block) {
        let found = self.frame.local("found", ty, Class::Unpredictable, Role::Private);
        let first = self.own_value(ty);
        self.set(found, first, out);
        for _ in 0..1 + self.draw.below(3) {
            let cond = self.own_condition();
            let (adds, also_else) = (self.draw.percent(50), self.draw.percent(50));
            let arm = |b: &mut Self| {
                let mut block = Vec::new();
                let loaded = load(b);
                let value = if adds { bin(BinaryOp::Add, Expr::Var(found), loaded) } else { loaded };
                b.set(found, value, &mut block);
                block
            };
            let stmt = self.branch(cond, arm, |b| if also_else { arm(b) } else { Vec::new() });
            out.push(stmt);
        }
        self.log(vec![Expr::Var(found)], out);
    }

    /// Every invocation writes elements of its own that stand beside each other, which a compiler may write at once: all of them or some, one after
    /// another, in branches, or in a loop. Then all are read, by words where they are narrow.
    fn stores_beside_each_other(&mut self, out: &mut Block) {
        let narrow: Vec<Scalar> =
            self.config.scalars.iter().copied().filter(|scalar| scalar.is_integer() && scalar.size() < 32).collect();
        let is_narrow = !narrow.is_empty() && self.draw.percent(80);
        let scalar = if is_narrow { self.draw.pick(&narrow) } else { self.draw.pick(&[Scalar::Uint, Scalar::Int]) };
        let parts = self.draw.pick(&[2, 4, 4]);
        let len = self.entry_point.group_size() * parts;
        let Some((array, ty)) = self.array_of_parts(scalar, len, 6, parts) else { return self.assignment(out) };
        if self.draw.percent(20) && self.affordable_trips() >= parts {
            self.stores_in_loop(array, ty, parts, out);
        } else {
            let mut order: Vec<u32> = (0..parts).filter(|_| self.draw.percent(90)).collect();
            if self.draw.percent(25) {
                order.reverse();
            }
            for element in order {
                let cond = self.draw.percent(25).then(|| self.own_condition());
                let value = self.own_value(ty);
                let store = self.store_to(array, uint(element), value);
                out.push(match cond {
                    Some(cond) => self.branch(cond, |_| vec![store], |_| Vec::new()),
                    None => store,
                });
            }
        }
        if self.draw.percent(40) {
            let own = bin(BinaryOp::Add, first_own(parts), uint(self.draw.below(parts)));
            self.read(array, own, out);
        }
        self.barrier_here(out);
        let word = bin(BinaryOp::Add, local_index(), uint(self.draw.pick(&[0, 1, 3])));
        let first = bin(BinaryOp::Mul, Self::wrapped(word, len / parts), uint(parts));
        let read: Vec<Expr> = (0..parts)
            .map(|element| {
                let index = bin(BinaryOp::Add, first.clone(), uint(element));
                cast(Scalar::Uint, self.load(array, index))
            })
            .collect();
        self.log(read, out);
        if let Some(word) = self.beside_each_other(array, len) {
            let whole = self.result_variable(Type::UINT, Class::Unpredictable);
            self.set(whole, word, out);
            self.log(vec![Expr::Var(whole)], out);
        }
    }

    /// `array[own * parts + i] = …` for each `i` in turn.
    fn stores_in_loop(&mut self, array: ArrayId, ty: Type, parts: u32, out: &mut Block) {
        let head = LoopHead { form: LoopForm::For, bound: (uint(parts), parts), decision: Decision::Uniform };
        let (mut stmt, _) = self.repeat(
            head,
            |_, _| None,
            |b, counter| {
                let value = b.own_value(ty);
                let element = Self::wrapped(Expr::Var(counter), parts);
                vec![b.store_to(array, element, value)]
            },
        );
        plain_head(&mut stmt);
        out.push(stmt);
    }

    /// The same several times over, with two barriers in a loop.
    fn exchange_in_loop(&mut self, out: &mut Block) {
        let len = self.entry_point.group_size();
        let Some((array, ty)) = self.plain_array(len, 0) else { return self.assignment(out) };
        let of_another = |_: &mut Self, counter| {
            let step = bin(BinaryOp::Add, Expr::Var(counter), uint(1));
            Self::wrapped(bin(BinaryOp::Add, local_index(), step), len)
        };
        self.exchanging(array, ty, Self::barrier_here, of_another, out);
    }

    /// A loop in which every lane stores what it has summed up and adds what another one stored, between two barriers.
    fn exchanging(
        &mut self,
        array: ArrayId,
        ty: Type,
        barrier: impl Fn(&mut Self, &mut Block),
        of_another: impl Fn(&mut Self, VarId) -> Expr,
        out: &mut Block,
    ) {
        let sum = self.frame.local("total", ty, Class::Unpredictable, Role::Private);
        let value = self.own_value(ty);
        self.set(sum, value, out);
        let trips = 2 + self.draw.below(2);
        let form = self.draw.pick(&[LoopForm::For, LoopForm::While, LoopForm::DoWhile, LoopForm::Forever]);
        let head = LoopHead { form, bound: (uint(trips), trips), decision: Decision::Uniform };
        let op = self.draw.pick(&[BinaryOp::Add, BinaryOp::BitXor]);
        let (mut stmt, _) = self.repeat(
            head,
            |_, _| None,
            |b, counter| {
                let mut body = Vec::new();
                let store = b.store(array, Expr::Var(sum));
                body.push(store);
                barrier(b, &mut body);
                let index = of_another(b, counter);
                let value = b.load(array, index);
                b.set(sum, bin(op, Expr::Var(sum), value), &mut body);
                b.observe(Moment::Assignment, &[sum], &mut body);
                barrier(b, &mut body);
                body
            },
        );
        plain_head(&mut stmt);
        out.push(stmt);
        self.log(vec![Expr::Var(sum)], out);
    }

    /// Atomics here and there in divergent code, the elements read after a barrier.
    fn scattered_atomics(&mut self, out: &mut Block) {
        let (op, init) = self.commutative();
        // An element for each invocation: there the order of one lane's own atomics is all there is, whatever the function.
        let alone = self.draw.percent(30);
        let op = if alone { self.draw.pick(&AtomicOp::ALL) } else { op };
        let len = if alone { self.entry_point.group_size() } else { self.draw.pick(&[1, 2, 4, 5, 8]) };
        let Some((array, ty)) = self.array(len, init) else { return self.assignment(out) };
        for _ in 0..1 + self.draw.below(3) {
            if alone {
                let mut block = Vec::new();
                self.atomic_on(op, array, ty, local_index(), &mut block);
                out.append(&mut block);
                continue;
            }
            let word = self.own_value(Type::UINT);
            let index = if len == 1 { uint(0) } else { Self::wrapped(word, len) };
            if self.draw.percent(30) {
                self.atomic_on(op, array, ty, index, out);
                continue;
            }
            let cond = self.own_condition();
            let also_else = self.draw.percent(40);
            let other = index.clone();
            let stmt = self.branch(
                cond,
                |b| {
                    let mut block = Vec::new();
                    b.atomic_on(op, array, ty, index, &mut block);
                    block
                },
                |b| {
                    let mut block = Vec::new();
                    if also_else {
                        b.atomic_on(op, array, ty, other, &mut block);
                    }
                    block
                },
            );
            out.push(stmt);
        }
        self.barrier_here(out);
        let index = if alone { self.other_slot(len) } else { Self::wrapped(local_index(), len) };
        let index = if len == 1 { uint(0) } else { index };
        self.read(array, index, out);
    }

    /// An atomic on a lane's own data, the old value kept or not.
    fn atomic_on(&mut self, op: AtomicOp, array: ArrayId, ty: Type, index: Expr, out: &mut Block) {
        let value = self.own_value(ty);
        let dest = self.draw.percent(40).then(|| self.result_variable(ty, Class::Unpredictable));
        let stmt = self.atomic(op, array, index, value, dest);
        out.push(stmt);
        dest.into_iter().for_each(|dest| self.observe(Moment::Operation, &[dest], out));
    }

    /// Lanes take tickets from a few elements, put values in and take others out, set and clear bits, here and there, and log what each got.
    fn tickets(&mut self, out: &mut Block) {
        let op = self.draw.pick(&[
            AtomicOp::Add,
            AtomicOp::Add,
            AtomicOp::Exchange,
            AtomicOp::Exchange,
            AtomicOp::Or,
            AtomicOp::And,
            AtomicOp::Max,
            AtomicOp::CompSwap,
        ]);
        let init = if op == AtomicOp::And { 0xFFFF_FFFF } else { self.draw.pick(&[0, 0, 100]) };
        let len = self.draw.pick(&[1, 1, 2, 4]);
        let Some((array, ty)) = self.array(len, init) else { return self.assignment(out) };
        for _ in 0..1 + self.draw.below(2) {
            match self.draw.below(6) {
                0 if self.affordable_trips() >= 3 => self.tickets_in_loop(op, array, ty, len, out),
                0 | 1 => self.ticket(op, array, ty, len, out),
                way => {
                    let cond = self.own_condition();
                    let also_else = way == 2;
                    let arm = |b: &mut Self| {
                        let mut block = Vec::new();
                        b.ticket(op, array, ty, len, &mut block);
                        block
                    };
                    let stmt = self.branch(cond, arm, |b| if also_else { arm(b) } else { Vec::new() });
                    out.push(stmt);
                }
            }
        }
        self.barrier_here(out);
        let index = if len == 1 { uint(0) } else { Self::wrapped(local_index(), len) };
        self.read(array, index, out);
    }

    /// The same several times over.
    fn tickets_in_loop(&mut self, op: AtomicOp, array: ArrayId, ty: Type, len: u32, out: &mut Block) {
        let trips = 2 + self.draw.below(2);
        let form = self.draw.pick(&[LoopForm::For, LoopForm::While, LoopForm::DoWhile]);
        let head = LoopHead { form, bound: (uint(trips), trips), decision: Decision::Uniform };
        let (stmt, _) = self.repeat(
            head,
            |_, _| None,
            |b, _| {
                let mut body = Vec::new();
                b.ticket(op, array, ty, len, &mut body);
                body
            },
        );
        out.push(stmt);
    }

    /// One atomic, and a log of what it returned.
    fn ticket(&mut self, op: AtomicOp, array: ArrayId, ty: Type, len: u32, out: &mut Block) {
        let index = match self.draw.below(3) {
            _ if len == 1 => uint(0),
            0 => uint(self.draw.below(len)),
            1 => Self::wrapped(local_index(), len),
            _ => {
                let word = self.own_value(Type::UINT);
                Self::wrapped(word, len)
            }
        };
        let number = |value| as_number(ty.scalar, value);
        let own_bit = || bin(BinaryOp::Shl, uint(1), bin(BinaryOp::BitAnd, local_index(), uint(31)));
        let value = match op {
            AtomicOp::Add => match self.draw.below(4) {
                0 => self.own_value(ty),
                1 => number(bin(BinaryOp::Add, local_index(), uint(1))),
                _ => number(uint(self.draw.pick(&[1, 1, 3]))),
            },
            AtomicOp::Or => number(own_bit()),
            AtomicOp::And => number(Expr::unary(UnaryOp::BitNot, own_bit())),
            _ if self.draw.percent(70) => {
                number(bin(BinaryOp::Add, local_index(), uint(self.draw.pick(&[1, 100, 200]))))
            }
            _ => self.own_value(ty),
        };
        let ticket = self.frame.local("ticket", ty, Class::Unpredictable, Role::Private);
        let stmt = self.atomic(op, array, index, value, Some(ticket));
        out.push(stmt);
        self.log(vec![Expr::Var(ticket)], out);
    }

    /// One atomic for each subgroup, on what its lanes have together.
    fn reduced_atomic(&mut self, out: &mut Block) {
        let (fold, op, init) = self.draw.pick(&[
            (Fold::Max, AtomicOp::Max, 0),
            (Fold::Add, AtomicOp::Add, 0),
            (Fold::Min, AtomicOp::Min, 0x7FFF_FFFF),
            (Fold::Xor, AtomicOp::Xor, 0),
        ]);
        let Some((array, ty)) = self.array_of(Scalar::Uint, 1, init) else { return self.assignment(out) };
        let value = self.own_value(ty);
        let reduced = self.frame.local("reduced", ty, self.frame.flow.class(), Role::Private);
        self.set(reduced, Expr::subgroup(SubgroupOp::Reduce(fold), [value]), out);
        let stmt =
            self.branch(elect(), |b| vec![b.atomic(op, array, uint(0), Expr::Var(reduced), None)], |_| Vec::new());
        out.push(stmt);
        self.barrier_here(out);
        self.read(array, uint(0), out);
    }

    /// Lanes that meet a condition find places in an array, with one atomic for each subgroup. Within a branch on the condition only
    /// tier maximal brings the lanes together again behind the one that counted; within a branch on a vote, tier subgroup_uniform does, too
    /// (the two forms of VK_KHR_shader_subgroup_uniform_control_flow's example).
    fn counted_compaction(&mut self, out: &mut Block) {
        let len = self.entry_point.group_size();
        let Some((counters, _)) = self.array_of(Scalar::Uint, len, 0) else { return self.assignment(out) };
        let Some((places, ty)) = self.array_of(Scalar::Uint, len, 0) else { return self.assignment(out) };
        let per_subgroup = self.draw.percent(50);
        let each = self.draw.pick(&[1, 1, 3]);
        let cond = self.own_condition();
        let wanted = cond.expr.clone();
        let voted = |b: &mut Self, cond: Cond| {
            let mut block = Vec::new();
            let base = b.counted(counters, per_subgroup, each, &wanted, &mut block);
            let stmt = b.branch(cond, |b| b.placed(places, ty, base, each, len), |_| Vec::new());
            block.push(stmt);
            block
        };
        match self.draw.below(4) {
            0 => out.extend(voted(self, cond)),
            1 if self.has(SubgroupOp::Any) => {
                let decision = if self.votes_are_uniform() { Decision::Uniform } else { Decision::Divergent };
                let expr = Expr::subgroup(SubgroupOp::Any, [wanted.clone()]);
                let somebody = Cond { expr, decision, source: Source::Other };
                let stmt = self.branch(somebody, |b| voted(b, cond), |_| Vec::new());
                out.push(stmt);
            }
            _ => {
                let stmt = self.branch(
                    cond,
                    |b| {
                        let mut block = Vec::new();
                        let base = b.counted(counters, per_subgroup, each, &Expr::Bool(true), &mut block);
                        block.extend(b.placed(places, ty, base, each, len));
                        block
                    },
                    |_| Vec::new(),
                );
                out.push(stmt);
            }
        }
        self.barrier_here(out);
        let counted = if per_subgroup { token() } else { uint(0) };
        self.read(counters, counted, out);
        self.read(places, local_index(), out);
    }

    /// The elected lane counts those that meet the condition, and the others get from it where they begin.
    fn counted(&mut self, counters: ArrayId, per_subgroup: bool, each: u32, wanted: &Expr, out: &mut Block) -> VarId {
        let base = self.frame.local("base", Type::UINT, Class::Unpredictable, Role::Private);
        let count = self.frame.local("count", Type::UINT, self.frame.flow.class(), Role::Private);
        let ballot = Expr::subgroup(SubgroupOp::Ballot, [wanted.clone()]);
        self.set(count, Expr::subgroup(SubgroupOp::BallotBitCount, [ballot]), out);
        let cell = self.frame.local("cell", Type::UINT, self.frame.flow.class(), Role::Private);
        let len = self.entry_point.group_size();
        self.set(cell, if per_subgroup { token() } else { uint(0) }, out);
        let number = bin(BinaryOp::Mul, Expr::Var(count), uint(each));
        let stmt = self.branch(
            elect(),
            |b| vec![b.atomic(AtomicOp::Add, counters, Self::wrapped(Expr::Var(cell), len), number, Some(base))],
            |_| Vec::new(),
        );
        out.push(stmt);
        self.set(base, Expr::subgroup(SubgroupOp::BroadcastFirst, [Expr::Var(base)]), out);
        self.observe(Moment::Operation, &[base], out);
        base
    }

    /// A lane's value goes to its place: the base, and the number of lanes before it.
    fn placed(&mut self, places: ArrayId, ty: Type, base: VarId, each: u32, len: u32) -> Block {
        let mut out = Vec::new();
        let ballot = Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)]);
        let rank = Expr::subgroup(SubgroupOp::BallotExclusiveBitCount, [ballot]);
        let place = bin(BinaryOp::Add, Expr::Var(base), bin(BinaryOp::Mul, rank, uint(each)));
        let value = self.own_value(ty);
        let op = self.draw.pick(&[AtomicOp::Add, AtomicOp::Exchange, AtomicOp::Max]);
        let stmt = self.atomic(op, places, Self::wrapped(place, len), value, None);
        out.push(stmt);
        out
    }

    /// Lanes keep several values or none. A scan says where within the subgroup; the highest lane, which knows how many there are, makes
    /// room for all by one atomic, and the others get its place by a maximum.
    fn scanned_compaction(&mut self, out: &mut Block) {
        let len = self.entry_point.group_size();
        let Some((counter, _)) = self.array_of(Scalar::Uint, 1, 0) else { return self.assignment(out) };
        let Some((places, ty)) = self.array_of(Scalar::Uint, len, 0) else { return self.assignment(out) };
        let class = self.frame.flow.class();
        let each = self.draw.pick(&[1, 2, 3]);
        let cond = self.own_condition();
        let kept = self.frame.local("kept", Type::UINT, Class::Clean, Role::Private);
        let number = Expr::Select(Box::new(cond.expr.clone()), Box::new(uint(each)), Box::new(uint(0)));
        self.set(kept, number, out);
        let offset = self.frame.local("offset", Type::UINT, class, Role::Private);
        self.set(offset, Expr::subgroup(SubgroupOp::Exclusive(Fold::Add), [Expr::Var(kept)]), out);
        let base = self.frame.local("base", Type::UINT, Class::Unpredictable, Role::Private);
        self.set(base, uint(0), out);
        let ballot = Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)]);
        let highest = bin(BinaryOp::Eq, Expr::subgroup(SubgroupOp::BallotFindMsb, [ballot]), lane());
        let all = bin(BinaryOp::Add, Expr::Var(offset), Expr::Var(kept));
        let stmt = self.branch(
            Cond { expr: highest, decision: Decision::Divergent, source: Source::Other },
            |b| vec![b.atomic(AtomicOp::Add, counter, uint(0), all, Some(base))],
            |_| Vec::new(),
        );
        out.push(stmt);
        self.set(base, Expr::subgroup(SubgroupOp::Reduce(Fold::Max), [Expr::Var(base)]), out);
        self.observe(Moment::Operation, &[base, offset], out);
        let first = bin(BinaryOp::Add, Expr::Var(base), Expr::Var(offset));
        let stmt = self.branch(
            cond,
            |b| {
                let places_of = |k| Self::wrapped(bin(BinaryOp::Add, first.clone(), uint(k)), len);
                let mut stores = Vec::new();
                for k in 0..each {
                    let value = b.own_value(ty);
                    stores.push(b.atomic(AtomicOp::Exchange, places, places_of(k), value, None));
                }
                stores
            },
            |_| Vec::new(),
        );
        out.push(stmt);
        self.barrier_here(out);
        self.read(counter, uint(0), out);
        self.read(places, local_index(), out);
    }

    /// One lane loads for all.
    fn elected_load(&mut self, out: &mut Block) {
        let len = self.entry_point.group_size();
        let Some((array, ty)) = self.plain_array(len, 0) else { return self.assignment(out) };
        let value = self.own_value(ty);
        let store = self.store(array, value);
        out.push(store);
        self.barrier_here(out);
        let loaded = self.frame.local("loaded", ty, Class::Unpredictable, Role::Private);
        self.set(loaded, as_number(ty.scalar, uint(0)), out);
        let index = self.other_slot(len);
        let stmt = self.branch(
            elect(),
            |b| {
                let mut block = Vec::new();
                let value = b.load(array, index);
                b.set(loaded, value, &mut block);
                block
            },
            |_| Vec::new(),
        );
        out.push(stmt);
        let first = Expr::subgroup(SubgroupOp::BroadcastFirst, [Expr::Var(loaded)]);
        self.set(loaded, first, out);
        self.log(vec![Expr::Var(loaded)], out);
    }

    /// True if lanes may exchange values through memory here, whatever control flow has parted them.
    pub(crate) fn may_exchange_in_subgroup(&self) -> bool {
        let together = self.frame.level == 0 && self.frame.flow.tangle_is_stable();
        together && self.has_workgroups() && self.frame.affords(LEAST) && self.has(SubgroupOp::Barrier)
    }

    /// Lanes that are together here write their slots, and read each other's behind a subgroup barrier; once, or in a loop with two.
    pub(crate) fn subgroup_exchange(&mut self, out: &mut Block) {
        if !self.has(SubgroupOp::Barrier) {
            return self.exchange(out);
        }
        let len = self.entry_point.group_size();
        let len = if self.draw.percent(60) { len.next_power_of_two() } else { len };
        let Some((array, ty)) = self.plain_array(len, 5) else { return self.assignment(out) };
        if self.draw.percent(25) && self.affordable_trips() >= 4 {
            return self.exchanging(array, ty, Self::subgroup_barrier_here, |b, _| b.peer_slot(len), out);
        }
        self.store_of_lanes(array, ty, 35, out);
        self.subgroup_barrier_here(out);
        for _ in 0..1 + self.draw.below(2) {
            let index = self.peer_slot(len);
            self.read(array, index, out);
        }
        let again = self.draw.percent(30);
        // The next iteration stores what these lanes may still load.
        if again || self.frame.in_loop() || self.draw.percent(20) {
            self.subgroup_barrier_here(out);
        }
        if again {
            let value = self.own_value(ty);
            let store = self.store(array, value);
            out.push(store);
            self.subgroup_barrier_here(out);
            let index = self.peer_slot(len);
            self.read(array, index, out);
            if self.frame.in_loop() {
                self.subgroup_barrier_here(out);
            }
        }
    }
}

/// What is uniform to the tier may differ between subgroups, in the head of a loop and where a call in it returns.
pub(super) fn plain_head(stmt: &mut Stmt) {
    if let Stmt::Loop(l) = stmt
        && let LoopKind::For { init, update, .. } = &mut l.kind
    {
        *init = uint(0);
        update.clear();
    }
}

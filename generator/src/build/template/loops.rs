//! Loops: lanes that leave one after another, values that they take with them.

use tangle_program::case::SubgroupSize;
use tangle_program::control::LoopControl;
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::subgroup::{Fold, MAX_SUBGROUP_SIZE, SubgroupOp};
use tangle_program::tree::{Arm, Block, Expr, Label, Stmt, Test, VarId, ends_in_jump};
use tangle_program::types::{Scalar, Type};

use super::super::Builder;
use super::super::cond::Cond;
use super::super::control::LoopHead;
use super::super::float::splat;
use super::super::frame::{Jump, Key, Source};
use super::super::log::Moment;
use super::super::term::{Want, as_number, bin, lane, number, uint};
use super::compare;
use super::memory::plain_head;
use crate::class::{Class, Decision};
use crate::weights::LoopForm;

/// Where lanes leave a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exit {
    Test,
    Break,
}

/// A condition that lanes of the tangle judge differently.
fn divergent(expr: Expr, source: Source) -> Cond {
    Cond { expr, decision: Decision::Divergent, source }
}

/// A loop with a literal bound.
fn counted(form: LoopForm, most: u32, decision: Decision) -> LoopHead {
    LoopHead { form, bound: (uint(most), most), decision }
}

fn not(expr: Expr) -> Expr {
    Expr::unary(UnaryOp::Not, expr)
}

impl Builder<'_> {
    /// `for (;;) { …; if (…) { …; break; } … }` without a counter: in each iteration one lane of every tangle leaves, or less is left of what
    /// every lane has ([`tangle_analysis::leaving`]).
    pub(super) fn endless(&mut self, out: &mut Block) {
        let trips = self.affordable_trips();
        let lanes = match self.entry_point.subgroup_size {
            SubgroupSize::Required(size) => size,
            SubgroupSize::Default | SubgroupSize::Varying => MAX_SUBGROUP_SIZE,
        };
        let narrow = [Scalar::Uint8, Scalar::Uint16].into_iter().filter(|scalar| self.config.scalars.contains(scalar));
        let scalars: Vec<Scalar> = narrow.chain([Scalar::Uint]).collect();
        let exact = self.is_maximal() && self.frame.flow.is_exact() && lanes <= trips;
        let of = |op, weight| if exact && self.has(op) { weight } else { 0 };
        let weights = [6, of(SubgroupOp::Elect, 3), of(SubgroupOp::BroadcastFirst, 3)];
        match self.draw.index(weights.into_iter()) {
            0 => {
                // A selector has 32 bits.
                let switched = self.may_return_from_arm() && self.draw.percent(60);
                let scalar = if switched { Scalar::Uint } else { self.draw.pick(&scalars) };
                self.until_nothing_is_left(scalar, switched, out);
            }
            1 => {
                let way_out =
                    |_: &mut Self, _: &mut Block| divergent(Expr::subgroup(SubgroupOp::Elect, []), Source::Other);
                self.without_counter(lanes, way_out, None, out);
            }
            _ => {
                let key = self.private("key", Type::UINT);
                let word = self.key(7);
                self.set(key, word, out);
                let first = self.private("first", Type::UINT);
                let way_out = |b: &mut Self, body: &mut Block| {
                    b.set(first, Expr::subgroup(SubgroupOp::BroadcastFirst, [Expr::Var(key)]), body);
                    divergent(compare(BinaryOp::Eq, key, Expr::Var(first)), Source::Var(key))
                };
                self.without_counter(lanes, way_out, None, out);
            }
        }
    }

    /// As long as a word of the lane's own is not 0, which loses bits from one iteration to the next.
    fn until_nothing_is_left(&mut self, scalar: Scalar, switched: bool, out: &mut Block) {
        let rest = self.private("rest", Type::scalar(scalar));
        let own = self.own_value(Type::UINT);
        let few = bin(BinaryOp::BitAnd, own, uint(self.draw.pick(&[0xFF, 0xF, 0x8421, 0xFFFF_FFFF])));
        self.set(rest, as_number(scalar, few), out);
        let by = self.draw.pick(&[1, 0, 2, 3]);
        let way_out = |b: &mut Self, body: &mut Block| {
            let less = match by {
                0 => bin(BinaryOp::BitAnd, Expr::Var(rest), bin(BinaryOp::Sub, Expr::Var(rest), number(scalar, 1))),
                by => bin(BinaryOp::Shr, Expr::Var(rest), uint(by)),
            };
            b.set(rest, less, body);
            divergent(compare(BinaryOp::Eq, rest, number(scalar, 0)), Source::Var(rest))
        };
        self.without_counter(scalar.size(), way_out, switched.then_some(rest), out);
    }

    /// A loop that lanes leave under the condition that `way_out` gives, all of them within so many iterations: by `break` or `return`, some perhaps by
    /// another exit, and where a variable is `switched` by the arm of a switch on it.
    fn without_counter(
        &mut self,
        rounds: u32,
        way_out: impl FnOnce(&mut Self, &mut Block) -> Cond,
        switched: Option<VarId>,
        out: &mut Block,
    ) {
        let ty = self.number_type();
        let sum = self.result_variable(ty, Class::Clean);
        let (early, late, last) = (self.draw.percent(40), self.draw.percent(50), self.draw.percent(50));
        let returns = switched.is_some() || self.may_return_from_arm() && self.draw.percent(40);
        // Somebody should come to what is behind the loop.
        let several = returns || self.draw.percent(40);
        let (stmt, _) = self.repeat(
            counted(LoopForm::Endless, rounds, Decision::Divergent),
            |_, _| None,
            |b, _| {
                let mut body = Vec::new();
                let seen = |b: &mut Self, block: &mut Block| {
                    let (detector, value) = (b.detector(ty), b.own_value(ty));
                    b.detect(detector, ty, value, block);
                };
                if early {
                    seen(b, &mut body);
                }
                let cond = way_out(b, &mut body);
                let leave = b.branch(
                    cond,
                    |b| {
                        let mut block = Vec::new();
                        if last {
                            seen(b, &mut block);
                        }
                        let value = b.own_value(ty);
                        b.set(sum, value, &mut block);
                        let jump = if returns && b.frame.can_jump(Jump::Return) { Jump::Return } else { Jump::Break };
                        b.push_jump(jump, &mut block);
                        block
                    },
                    |_| Vec::new(),
                );
                body.push(match switched {
                    Some(var) => as_switch(leave, var),
                    None => leave,
                });
                if several {
                    b.another_way_out(&mut body);
                }
                if late {
                    seen(b, &mut body);
                } else {
                    b.assignment(&mut body);
                }
                body
            },
        );
        out.push(stmt);
        self.observe(Moment::Loop, &[sum], out);
    }

    /// True if lanes may return in a branch that parts them.
    fn may_return_from_arm(&self) -> bool {
        self.frame.can_jump_from(self.frame.flow.arm(Decision::Divergent), Jump::Return)
    }

    /// `if (…) { break; }` under a condition of the lane's own.
    fn another_way_out(&mut self, out: &mut Block) {
        let cond = self.own_condition();
        let leave = self.branch(
            cond,
            |b| {
                let mut block = Vec::new();
                b.assignment(&mut block);
                b.push_jump(Jump::Break, &mut block);
                block
            },
            |_| Vec::new(),
        );
        out.push(leave);
    }

    /// True if a loop may stand here that runs very often: in `main`, in no other loop, and there is none yet.
    pub(super) fn may_run_long(&self) -> bool {
        !self.has_long_sum && self.frame.level == 0 && self.frame.trips == 1
    }

    /// `for (many trips) { x = x + e; y = y ^ f; }`, with a bound about which narrow counters come round.
    pub(super) fn long_sum(&mut self, out: &mut Block) {
        self.has_long_sum = true;
        let narrow = self.extended_scalar().filter(|scalar| scalar.is_integer() && self.draw.percent(40));
        let scalar = narrow.unwrap_or(self.draw.pick(&[Scalar::Uint, Scalar::Int]));
        let sums: Vec<(VarId, BinaryOp)> = (0..1 + self.draw.below(2))
            .map(|_| {
                (
                    self.private("total", Type::scalar(scalar)),
                    self.draw.pick(&[BinaryOp::Add, BinaryOp::Add, BinaryOp::BitXor]),
                )
            })
            .collect();
        for &(var, _) in &sums {
            let start = self.own_value(Type::scalar(scalar));
            self.set(var, start, out);
        }
        let word = match self.draw.below(3) {
            0 => lane(),
            1 => self.input(),
            _ => self.constant_word(),
        };
        let base = self.draw.pick(&[300, 32_760, 65_530, 65_530, 65_536, 69_000]);
        let bound = bin(BinaryOp::Add, uint(base), bin(BinaryOp::BitAnd, word, uint(self.draw.pick(&[1, 7, 15]))));
        let form = self.draw.pick(&[LoopForm::For, LoopForm::While, LoopForm::DoWhile, LoopForm::Forever]);
        let head = LoopHead { form, bound: (bound, 1), decision: Decision::Divergent };
        let (mut stmt, counter) = self.repeat(
            head,
            |_, _| None,
            |b, _| {
                let mut body = Vec::new();
                for &(var, op) in &sums {
                    let by = match b.draw.below(3) {
                        0 => bin(BinaryOp::Add, lane(), uint(1)),
                        1 => b.input(),
                        _ => uint(b.draw.pick(&[1, 3, 0x101])),
                    };
                    b.set(var, bin(op, Expr::Var(var), as_number(scalar, by)), &mut body);
                }
                body
            },
        );
        plain_head(&mut stmt);
        if let Stmt::Loop(l) = &mut stmt {
            // Nobody wants it unrolled.
            l.control = LoopControl::Unspecified;
        }
        out.push(stmt);
        let left = sums.iter().map(|&(var, _)| Expr::Var(var)).chain([Expr::Var(counter)]).collect();
        self.log(left, out);
    }

    /// `for (one trip) { v = mix(v, w, v < w); v[i] = x; r = op(v[j]); }`
    pub(super) fn chosen_index(&mut self, out: &mut Block) {
        let scalar = match self.extended_scalar() {
            Some(scalar) if !scalar.is_float() && self.draw.percent(50) => scalar,
            _ => self.draw.pick(&[Scalar::Uint, Scalar::Int]),
        };
        let ty = Type::vector(scalar, self.draw.range(2, 4) as u8);
        let var = self.private("chosen", ty);
        let start = self.own_value(ty);
        self.set(var, start, out);
        let written = self.frame.clock;
        let together = !self.is_maximal() && self.frame.flow.is_uniform();
        let decision = if together { Decision::Uniform } else { Decision::Divergent };
        let head = counted(self.form(), 1, decision);
        let (stmt, counter) = self.repeat(head, |_, _| None, |b, _| b.chosen_body(var, ty));
        out.push(stmt);
        self.after_loop(counter, written, out);
        let result = self.result_variable(ty, Class::Clean);
        self.keep(result, Expr::Var(var), out);
    }

    fn chosen_body(&mut self, var: VarId, ty: Type) -> Block {
        let mut out = Vec::new();
        let (other, cond) = (self.own_value(ty), self.compared(ty.width, Want::own(0)));
        self.set(var, Expr::Intrinsic(Intrinsic::Mix, vec![Expr::Var(var), other, cond]), &mut out);
        let (index, value) = (self.index(ty), self.own_value(Type::scalar(ty.scalar)));
        self.set_element(var, index, value, &mut out);
        let element = Expr::Element(Box::new(Expr::Var(var)), Box::new(self.index(ty)));
        let of = Type::scalar(ty.scalar);
        let detector = self.detector(of);
        self.detect(detector, of, element, &mut out);
        out
    }

    /// Lanes with equal keys leave together, one key an iteration.
    pub(super) fn waterfall(&mut self, out: &mut Block) {
        let mask = if self.affordable_trips() >= 8 { self.draw.pick(&[3, 7, 3, 1]) } else { 3 };
        let key = self.private("key", Type::UINT);
        let word = self.key(mask);
        self.set(key, word, out);
        let first = self.private("first", Type::UINT);
        let (ty, written) = (self.number_type(), self.frame.clock);
        let sum = self.result_variable(ty, Class::Clean);
        let done = if self.draw.percent(30) { Some(self.private("done", Type::BOOL)) } else { None };
        if let Some(done) = done {
            self.set(done, Expr::Bool(false), out);
        }
        let form = match done {
            Some(_) => self.draw.pick(&[LoopForm::DoWhile, LoopForm::While]),
            None => self.draw.pick(&[LoopForm::Forever, LoopForm::Forever, LoopForm::For, LoopForm::While]),
        };
        let set = counted(form, mask + 1, Decision::Divergent);
        let test = |_: &mut Self, _| done.map(|done| Test { before: Vec::new(), cond: not(Expr::Var(done)) });
        let (stmt, counter) = self.repeat(set, test, |b, _| b.waterfall_body(key, first, sum, done));
        out.push(stmt);
        self.after_loop(counter, written, out);
    }

    fn waterfall_body(&mut self, key: VarId, first: VarId, sum: VarId, done: Option<VarId>) -> Block {
        let mut out = Vec::new();
        let leader = self.leader(Expr::Var(key));
        self.set(first, leader, &mut out);
        self.observe(Moment::Assignment, &[first], &mut out);
        let turned = self.draw.percent(25) && done.is_none();
        if turned {
            // The others skip the rest of the iteration.
            let skip = self.branch(
                divergent(compare(BinaryOp::Ne, key, Expr::Var(first)), Source::Var(key)),
                |b| {
                    let mut block = b.block(1);
                    b.push_jump(Jump::Continue, &mut block);
                    block
                },
                |_| Vec::new(),
            );
            out.push(skip);
            self.one_turn(sum, done, &mut out);
            return out;
        }
        let with_else = self.draw.percent(35);
        let step = self.branch(
            divergent(compare(BinaryOp::Eq, key, Expr::Var(first)), Source::Var(key)),
            |b| {
                let mut block = Vec::new();
                let keys = [key, first].map(|var| Key { expr: Expr::Var(var), ty: Type::UINT, exact: true });
                b.knowing(keys, |b| {
                    if b.draw.percent(30) {
                        b.keyed_operation(&mut block);
                    }
                    if b.has_resources() && b.draw.percent(25) {
                        // Lanes of other subgroups may be here with another key.
                        b.keep_resource(Expr::Var(first), true, &mut block);
                    }
                    b.one_turn(sum, done, &mut block);
                });
                block
            },
            |b| if with_else { b.filled(1) } else { Vec::new() },
        );
        out.push(step);
        if self.draw.percent(35) {
            self.extend(1, &mut out);
        }
        out
    }

    /// A value that some lane of the tangle has: `subgroupBroadcastFirst(key)` and its relatives.
    fn leader(&mut self, key: Expr) -> Expr {
        match self.draw.below(8) {
            5 if self.has(SubgroupOp::Reduce(Fold::Min)) => {
                let fold = self.draw.pick(&[Fold::Min, Fold::Max]);
                Expr::subgroup(SubgroupOp::Reduce(fold), [key])
            }
            6 if self.has(SubgroupOp::Shuffle) => {
                let member = Expr::subgroup(SubgroupOp::BroadcastFirst, [lane()]);
                Expr::subgroup(SubgroupOp::Shuffle, [key, member])
            }
            7 if self.has_dynamic_broadcast() && self.frame.flow.tangle_is_stable() => {
                let member = Expr::subgroup(SubgroupOp::BroadcastFirst, [lane()]);
                Expr::subgroup(SubgroupOp::Broadcast, [key, member])
            }
            _ => Expr::subgroup(SubgroupOp::BroadcastFirst, [key]),
        }
    }

    /// What the chosen lanes do: something with an operation, then out.
    fn one_turn(&mut self, sum: VarId, done: Option<VarId>, out: &mut Block) {
        let ty = self.frame.var(sum).ty;
        let detector = self.detector(ty);
        let value = self.own_value(ty);
        self.set(sum, detector.on(value), out);
        self.observe(Moment::Operation, &[sum], out);
        if self.draw.percent(50) {
            self.extend(1, out);
        }
        match done {
            Some(done) if !ends_in_jump(out) => self.set(done, Expr::Bool(true), out),
            Some(_) => {}
            None => self.push_jump(Jump::Break, out),
        }
    }

    /// One lane an iteration leaves, the lowest mostly.
    pub(super) fn elect_loop(&mut self, out: &mut Block) {
        let (ty, written) = (self.number_type(), self.frame.clock);
        let sum = self.result_variable(ty, Class::Clean);
        let most = self.draw.pick(&[4, 5, 3, 8, 16]).min(self.affordable_trips());
        let exit = if self.draw.percent(25) { Exit::Test } else { Exit::Break };
        let form = match exit {
            Exit::Test => self.draw.pick(&[LoopForm::While, LoopForm::DoWhile, LoopForm::For]),
            Exit::Break => self.draw.pick(&[LoopForm::Forever, LoopForm::Forever, LoopForm::For, LoopForm::DoWhile]),
        };
        let set = counted(form, most, Decision::Divergent);
        let (stmt, counter) = self.repeat(
            set,
            |b, _| match exit {
                Exit::Test => Some(Test { before: Vec::new(), cond: not(b.chosen_one()) }),
                Exit::Break => None,
            },
            |b, counter| b.elect_body(sum, counter, exit),
        );
        out.push(stmt);
        self.after_loop(counter, written, out);
    }

    /// True in one lane.
    fn chosen_one(&mut self) -> Expr {
        match self.draw.below(8) {
            4 if self.has(SubgroupOp::BroadcastFirst) => {
                bin(BinaryOp::Eq, lane(), Expr::subgroup(SubgroupOp::BroadcastFirst, [lane()]))
            }
            // The last lane first.
            5 if self.has(SubgroupOp::Reduce(Fold::Max)) => {
                bin(BinaryOp::Eq, lane(), Expr::subgroup(SubgroupOp::Reduce(Fold::Max), [lane()]))
            }
            6 if self.has(SubgroupOp::Exclusive(Fold::Add)) => {
                bin(BinaryOp::Eq, Expr::subgroup(SubgroupOp::Exclusive(Fold::Add), [uint(1)]), uint(0))
            }
            7 if self.has(SubgroupOp::Ballot) => {
                let ballot = Expr::subgroup(SubgroupOp::Ballot, [Expr::Bool(true)]);
                bin(BinaryOp::Eq, Expr::subgroup(SubgroupOp::BallotExclusiveBitCount, [ballot]), uint(0))
            }
            _ => Expr::subgroup(SubgroupOp::Elect, []),
        }
    }

    fn elect_body(&mut self, sum: VarId, counter: VarId, exit: Exit) -> Block {
        let mut out = Vec::new();
        if self.draw.percent(35) {
            self.extend(1, &mut out);
        }
        if exit == Exit::Test {
            let value = self.own_value(self.frame.var(sum).ty);
            self.add_to(sum, value, &mut out);
            self.observe(Moment::Assignment, &[sum], &mut out);
            return out;
        }
        let cond = divergent(self.chosen_one(), Source::Other);
        let chosen = self.branch(
            cond,
            |b| {
                let mut block = Vec::new();
                let ty = b.frame.var(sum).ty;
                let step = if ty == Type::UINT { Expr::Var(counter) } else { b.own_value(ty) };
                b.add_to(sum, step, &mut block);
                b.extend(1, &mut block);
                b.push_jump(Jump::Break, &mut block);
                block
            },
            |_| Vec::new(),
        );
        out.push(chosen);
        if self.draw.percent(60) {
            // Those that stay.
            let ty = self.frame.var(sum).ty;
            let detector = self.detector(ty);
            let value = self.own_value(ty);
            self.detect(detector, ty, value, &mut out);
        }
        out
    }

    /// Lanes work until none of them has work left; those that are done come along.
    pub(super) fn while_any(&mut self, out: &mut Block) {
        let decision = if self.is_maximal() { Decision::Divergent } else { Decision::Uniform };
        let mask = self.draw.pick(&[3, 3, 1, 7]).min(self.affordable_trips() - 1);
        let left = self.private("left", Type::UINT);
        let word = self.key(mask);
        self.set(left, word, out);
        let (ty, written) = (self.number_type(), self.frame.clock);
        let sum = self.result_variable(ty, Class::Clean);
        let form = self.draw.pick(&[LoopForm::While, LoopForm::While, LoopForm::For, LoopForm::DoWhile]);
        let set = counted(form, mask + 1, decision);
        let (stmt, counter) = self.repeat(
            set,
            |b, _| Some(Test { before: Vec::new(), cond: b.any_left(left) }),
            |b, _| b.while_any_body(left, sum),
        );
        out.push(stmt);
        self.after_loop(counter, written, out);
    }

    fn any_left(&mut self, left: VarId) -> Expr {
        let some = || compare(BinaryOp::Ne, left, uint(0));
        match self.draw.below(6) {
            3 => not(Expr::subgroup(SubgroupOp::All, [compare(BinaryOp::Eq, left, uint(0))])),
            4 if self.has(SubgroupOp::Reduce(Fold::Max)) => {
                let fold = self.draw.pick(&[Fold::Max, Fold::Or, Fold::Add]);
                bin(BinaryOp::Ne, Expr::subgroup(SubgroupOp::Reduce(fold), [Expr::Var(left)]), uint(0))
            }
            5 if self.has(SubgroupOp::Ballot) => {
                let ballot = Expr::subgroup(SubgroupOp::Ballot, [some()]);
                bin(BinaryOp::Gt, Expr::subgroup(SubgroupOp::BallotBitCount, [ballot]), uint(0))
            }
            _ => Expr::subgroup(SubgroupOp::Any, [some()]),
        }
    }

    fn while_any_body(&mut self, left: VarId, sum: VarId) -> Block {
        let mut out = Vec::new();
        let working = self.branch(
            divergent(compare(BinaryOp::Gt, left, uint(0)), Source::Var(left)),
            |b| {
                let mut block = Vec::new();
                let ty = b.frame.var(sum).ty;
                let value = b.own_value(ty);
                b.add_to(sum, value, &mut block);
                b.set(left, compare(BinaryOp::Sub, left, uint(1)), &mut block);
                b.extend(1, &mut block);
                block
            },
            |_| Vec::new(),
        );
        out.push(working);
        let ty = self.frame.var(sum).ty;
        let detector = self.detector(ty);
        self.detect(detector, ty, Expr::Var(sum), &mut out);
        out
    }

    /// The lanes in order, each for itself; in one loop or with the loop inside a branch.
    pub(super) fn lane_by_lane(&mut self, out: &mut Block) {
        let (ty, written) = (self.number_type(), self.frame.clock);
        let sum = self.result_variable(ty, Class::Clean);
        let most = self.draw.pick(&[4, 3, 5, 8]).min(self.affordable_trips());
        let form = self.form();
        let set = counted(form, most, Decision::Divergent);
        let lowest = self.private("low", Type::UINT);
        let fold = self.draw.pick(&[Fold::Min, Fold::Max]);
        let (stmt, counter) = self.repeat(
            set,
            |_, _| None,
            |b, _| {
                let mut body = Vec::new();
                b.set(lowest, Expr::subgroup(SubgroupOp::Reduce(fold), [lane()]), &mut body);
                b.observe(Moment::Assignment, &[lowest], &mut body);
                let mine = bin(BinaryOp::Eq, lane(), Expr::Var(lowest));
                let step = b.branch(
                    divergent(mine, Source::Lane),
                    |b| {
                        let mut block = Vec::new();
                        let value = b.own_value(ty);
                        b.add_to(sum, value, &mut block);
                        b.extend(1, &mut block);
                        b.push_jump(Jump::Break, &mut block);
                        block
                    },
                    |_| Vec::new(),
                );
                body.push(step);
                b.extend(1, &mut body);
                body
            },
        );
        out.push(stmt);
        self.after_loop(counter, written, out);
    }

    /// A number of iterations that differs between lanes; the value goes on after the loop.
    pub(super) fn carried_loop(&mut self, out: &mut Block) {
        let ty = self.number_type();
        let carried = self.result_variable(ty, Class::Clean);
        let written = self.frame.clock;
        let trips = self.draw.pick(&[4, 3, 5, 8]).min(self.affordable_trips());
        let bound = self.bound(trips, Decision::Divergent);
        let form = self.form();
        let size = self.draw.below(3);
        let (stmt, counter) = self.repeat(
            LoopHead { form, bound, decision: Decision::Divergent },
            |_, _| None,
            |b, counter| {
                let mut body = Vec::new();
                let value = b.carried_value(ty, counter);
                b.add_to(carried, value, &mut body);
                b.extend(size, &mut body);
                if b.draw.percent(25) && !ends_in_jump(&body) {
                    b.rotation(&mut body);
                }
                if b.can_exit() && (form == LoopForm::Forever || b.draw.percent(60)) && !ends_in_jump(&body) {
                    b.exit(&mut body);
                    b.extend(1, &mut body);
                }
                body
            },
        );
        out.push(stmt);
        self.after_loop(counter, written, out);
        let detector = self.detector(ty);
        self.detect(detector, ty, Expr::Var(carried), out);
    }

    fn carried_value(&mut self, ty: Type, counter: VarId) -> Expr {
        let value = self.own_value(ty);
        if ty == Type::UINT && self.draw.percent(60) { bin(BinaryOp::BitXor, value, Expr::Var(counter)) } else { value }
    }

    /// An inner loop that lanes leave for the outer one's sake.
    pub(super) fn nested_exit(&mut self, out: &mut Block) {
        let done = self.private("done", Type::BOOL);
        let written = self.frame.clock;
        self.set(done, Expr::Bool(false), out);
        let outer = self.draw.pick(&[3, 2, 4]).min(self.affordable_trips());
        let (form, inner_form) = (self.form(), self.form());
        let set = counted(form, outer, Decision::Divergent);
        let in_test = form != LoopForm::Forever && self.draw.percent(40);
        let exit = if in_test { Exit::Test } else { Exit::Break };
        let (stmt, counter) = self.repeat(
            set,
            |_, _| in_test.then(|| Test { before: Vec::new(), cond: not(Expr::Var(done)) }),
            |b, _| b.nested_exit_body(inner_form, done, exit),
        );
        out.push(stmt);
        self.after_loop(counter, written, out);
    }

    fn nested_exit_body(&mut self, form: LoopForm, done: VarId, exit: Exit) -> Block {
        let mut body = Vec::new();
        self.extend(1, &mut body);
        if ends_in_jump(&body) {
            return body;
        }
        let trips = self.draw.pick(&[3, 2, 4]).min(self.affordable_trips()).max(1);
        let bound = self.bound(trips, Decision::Divergent);
        let written = self.frame.clock;
        let (inner, counter) = self.repeat(
            LoopHead { form, bound, decision: Decision::Divergent },
            |_, _| None,
            |b, _| {
                let mut body = b.block(1);
                if ends_in_jump(&body) {
                    return body;
                }
                let cond = b.condition();
                let leave = b.branch(
                    cond,
                    |b| {
                        let mut block = b.block(1);
                        if !ends_in_jump(&block) {
                            b.set(done, Expr::Bool(true), &mut block);
                            b.push_jump(Jump::Break, &mut block);
                        }
                        block
                    },
                    |_| Vec::new(),
                );
                body.push(leave);
                b.extend(1, &mut body);
                body
            },
        );
        body.push(inner);
        self.after_loop(counter, written, &mut body);
        if exit == Exit::Break {
            let stop = self.branch(
                divergent(Expr::Var(done), Source::Var(done)),
                |b| {
                    let mut block = Vec::new();
                    b.push_jump(Jump::Break, &mut block);
                    block
                },
                |_| Vec::new(),
            );
            body.push(stop);
        }
        self.extend(1, &mut body);
        body
    }

    /// A value that depends on the exit taken.
    pub(super) fn exit_value(&mut self, out: &mut Block) {
        let ty = self.number_type();
        let value = self.result_variable(ty, Class::Clean);
        let written = self.frame.clock;
        let trips = self.draw.pick(&[3, 4, 5]).min(self.affordable_trips());
        let bound = self.bound(trips, Decision::Divergent);
        let form = self.form();
        let exits = 2 + self.draw.below(2);
        let (stmt, counter) = self.repeat(
            LoopHead { form, bound, decision: Decision::Divergent },
            |_, _| None,
            |b, _| {
                let mut body = Vec::new();
                for _ in 0..exits {
                    b.leave_with(value, ty, &mut body);
                    if b.draw.percent(30) {
                        b.extend(1, &mut body);
                    }
                    if ends_in_jump(&body) {
                        return body;
                    }
                }
                let next = b.own_value(ty);
                b.add_to(value, next, &mut body);
                body
            },
        );
        out.push(stmt);
        self.after_loop(counter, written, out);
        let detector = self.detector(ty);
        self.detect(detector, ty, Expr::Var(value), out);
    }

    /// `if (c) { value = …; break; }`
    fn leave_with(&mut self, value: VarId, ty: Type, out: &mut Block) {
        let cond = self.condition();
        let left = self.own_value(ty);
        let combined = self.draw.percent(50);
        let jump = self.draw.pick(&[Jump::Break, Jump::Break, Jump::Continue]);
        let stmt = self.branch(
            cond,
            |b| {
                let mut block = Vec::new();
                if combined {
                    b.add_to(value, left, &mut block);
                } else {
                    b.set(value, left, &mut block);
                }
                b.push_jump(jump, &mut block);
                block
            },
            |_| Vec::new(),
        );
        out.push(stmt);
    }

    /// The same operation in a loop that lanes leave one by one, and again after it.
    pub(super) fn in_and_after_loop(&mut self, out: &mut Block) {
        let ty = self.number_type();
        let detector = self.detector(ty);
        let value = self.result_variable(ty, Class::Clean);
        let written = self.frame.clock;
        let trips = self.draw.pick(&[4, 3, 5]).min(self.affordable_trips());
        let decision = self.loop_decision();
        let bound = self.bound(trips, decision);
        let form = self.form();
        let same = self.draw.percent(60);
        let operand = self.own_value(ty);
        let again = operand.clone();
        let (stmt, counter) = self.repeat(
            LoopHead { form, bound, decision },
            |_, _| None,
            |b, counter| {
                let mut body = Vec::new();
                let change = if ty.scalar.is_float() { BinaryOp::Add } else { BinaryOp::BitXor };
                let counted = splat(ty, as_number(ty.scalar, Expr::Var(counter)));
                let inside = if same { operand } else { bin(change, operand, counted) };
                b.detect(detector, ty, inside, &mut body);
                let value_now = b.own_value(ty);
                b.add_to(value, value_now, &mut body);
                if b.can_exit() {
                    b.exit(&mut body);
                }
                body
            },
        );
        out.push(stmt);
        self.after_loop(counter, written, out);
        let after = if same { again } else { Expr::Var(value) };
        self.detect(detector, ty, after, out);
    }
}

/// The branch by which lanes return where a variable is 0, as a switch on it.
fn as_switch(branch: Stmt, var: VarId) -> Stmt {
    match branch {
        Stmt::If { then, otherwise, control, .. }
            if otherwise.is_empty() && matches!(then.last(), Some(Stmt::Return(_))) =>
        {
            let arm = |label, body| Arm { labels: vec![label], body };
            let arms = vec![arm(Label::Case(0), then), arm(Label::Default, vec![Stmt::Break])];
            Stmt::Switch { selector: Expr::Var(var), arms, control }
        }
        other => other,
    }
}

//! Subgroup operations: a set of lanes divided by subgroup, the table's meaning, and taint.

use std::rc::Rc;

use smallvec::SmallVec;
use tangle_program::case::Tier;
use tangle_program::subgroup::{
    Category, Component, Fold, Gives, Instance, OpInfo, Param, Reach, Severity, Spread, SubgroupOp, Ub, first_lanes,
    lanes,
};
use tangle_program::types::Scalar;

use super::{Frame, Machine, Pass, Saved, Stop};
use crate::lower::OpNode;
use crate::mask::Mask;
use crate::observed::trace::{Known, Step};
use crate::rules::Rules;
use crate::value::{Names, Provenance, Taint, Value};

impl<'a, R: Rules> Machine<'a, R> {
    pub(super) fn subgroup(&mut self, frame: &Frame, op: &'a OpNode, a: &Mask, u: &Mask) -> Result<Value, Stop> {
        let args = op.args.iter().map(|arg| self.eval(frame, arg, a, u));
        let args = args.collect::<Result<SmallVec<[Value; 2]>, _>>()?;
        let width = op.result_width();
        let mut work = OpWork {
            op,
            columns: (0..width).map(|_| vec![0; self.layout.slots]).collect(),
            undefined: self.none(),
            unknown: self.none(),
            args: &args,
        };
        let mut names = None;
        let mut from = args.iter().fold(Provenance::default(), |from, arg| from.or(&arg.from));
        let a = a.minus(&self.lost);
        let layout = self.layout;
        for (s, subgroup) in layout.subgroups.iter().enumerate() {
            let tangle = a.lanes(subgroup.first, subgroup.size);
            if tangle == 0 {
                continue;
            }
            let whole = tangle == subgroup.live;
            self.counts.executed[op.id][usize::from(!whole)] += u64::from(tangle.count_ones());
            from.insert(op.id, whole);
            let basis = self.exact_by(op.id, op.info.reach, s, tangle, u);
            let exact = basis.is_some();
            self.note_quads(op.id, op.info.reach, s, tangle);
            if op.info.tangle_dependent() {
                // Who takes part rests on the paths of all lanes, also of those that are elsewhere.
                from = from.resting_on(op.severity()).resting_on(self.paths_rest_on(subgroup));
                from = from.resting_on(basis.unwrap_or_default());
            }
            if layout.votes_are_free && !self.observing() && op.info.category == Category::Vote {
                work.vote(subgroup.first, subgroup.size, tangle);
            } else if self.observing() {
                self.operate_as_device(&mut work, s, tangle, u);
            } else {
                self.operate(&mut work, s, tangle)?;
                if op.info.reach == Reach::Own && self.tier != Tier::Maximal {
                    // What a helper gets that may be considered inactive is not said (rule H3).
                    work.unknown
                        .insert_lanes(subgroup.first, tangle & self.helpers.lanes(subgroup.first, subgroup.size));
                }
                if !exact && op.info.tangle_dependent() {
                    work.unknown.insert_lanes(subgroup.first, tangle);
                    self.is_open = true;
                    from = from.resting_on(self.adopt(op, &mut work, &mut names, s, tangle));
                }
                if let Some(trace) = &mut self.trace {
                    let first = op.id * layout.slots + subgroup.first;
                    lanes(tangle).for_each(|lane| trace.visits[first + lane] += 1);
                    if let Some(severity) = basis {
                        let at = trace.steps.len();
                        let parts = op.info.reach.waiting(tangle);
                        trace.known.extend(parts.map(|lanes| Known { at, subgroup: s, lanes, severity }));
                    }
                }
            }
        }
        let OpWork { columns, undefined, unknown, .. } = work;
        let taint = match (undefined.is_empty(), unknown.is_empty()) {
            (true, true) => None,
            (is_defined, _) => Some(Box::new(Taint { lanes: undefined.or(&unknown), undefined: !is_defined })),
        };
        let names =
            names.map(|names: SmallVec<[Vec<u32>; 4]>| Box::new(Names(names.into_iter().map(Rc::new).collect())));
        Ok(Value { columns: columns.into_iter().map(Rc::new).collect(), taint, from, names })
    }

    /// While an observation is followed: names the results of an open operation, and takes what is known of them. Gives the weakest rule
    /// that any of that rests on.
    fn adopt(
        &mut self,
        op: &'a OpNode,
        work: &mut OpWork<'_>,
        names: &mut Option<SmallVec<[Vec<u32>; 4]>>,
        s: usize,
        tangle: u128,
    ) -> Severity {
        let mut severity = Severity::Hard;
        let Some(trace) = &mut self.trace else { return severity };
        let subgroup = &self.layout.subgroups[s];
        let (first, size) = (subgroup.first, subgroup.size);
        let width = work.columns.len();
        let base = trace.begin(op, s, (first, size), tangle, work.args, &self.keys);
        let step = trace.steps.len() - 1;
        let names = names.get_or_insert_with(|| SmallVec::from_elem(vec![0; self.layout.slots], width));
        for lane in lanes(tangle) {
            for (c, names) in names.iter_mut().enumerate() {
                names[first + lane] = base + (c * size + lane) as u32;
            }
            let Some(bound) = trace.bindings.get(&trace.steps[step].visit(lane)) else { continue };
            if let Some(instance) = bound.instance {
                trace.steps[step].after[lane] = instance;
                trace.paths[first + lane] = instance;
            }
            if bound.defined && bound.bits.iter().all(Option::is_some) {
                for (column, bits) in work.columns.iter_mut().zip(bound.bits.iter().flatten()) {
                    column[first + lane] = *bits;
                }
                work.unknown.remove(first + lane);
                severity = severity.max(bound.severity);
            }
        }
        severity
    }

    /// What it is known by that this is the scope-restricted tangle (see the module page), if it is. Notes the visit in a survey.
    fn exact_by(&mut self, op: usize, reach: Reach, s: usize, tangle: u128, u: &Mask) -> Option<Severity> {
        let subgroup = &self.layout.subgroups[s];
        let at = op * self.layout.subgroups.len() + s;
        if self.trace.is_some() {
            self.visitors[at] |= tangle;
        }
        let is_quad = reach == Reach::Quad;
        if matches!(self.pass, Pass::Predict { .. }) && !is_quad && self.may_have_others(s) {
            return None;
        }
        match &self.pass {
            Pass::Observe { .. } => Some(Severity::Hard),
            Pass::Survey => {
                self.visitors[at] |= tangle;
                Some(Severity::Hard)
            }
            Pass::Predict { .. } if self.tier == Tier::Maximal => {
                let mut lost = self.lost.lanes(subgroup.first, subgroup.size) | self.without_quads(op, s, tangle);
                if is_quad {
                    // Who is elsewhere in the subgroup is nothing to a quad.
                    lost &= reach
                        .waiting(tangle)
                        .fold(0, |quads, part| quads | first_lanes(4) << (part.trailing_zeros() & !3));
                }
                let exact = lost == 0 && (!self.keyed || self.has_one_key(s, tangle));
                exact.then_some(Severity::Hard)
            }
            Pass::Predict { visitors, classes } => {
                let uniform = u.lanes(subgroup.first, subgroup.size) != 0 && self.nobody_lost_in_group(s);
                let together = if uniform { self.together_by(subgroup.first, reach, tangle) } else { None };
                let one_class = || classes[s] && visitors[at] == tangle && self.has_one_key(s, tangle);
                // The letter of "as long as they follow the same control-flow path" (SPIR-V 1.6 rev 6, §2.2.5), which no test covers.
                together.or_else(|| one_class().then_some(Severity::Strong))
            }
        }
    }

    /// True if lanes of which nothing is known may take part in an operation of the subgroup that is no quad operation: helper invocations
    /// that may be considered inactive (rule H3), or whose quad has nobody else (rule H6).
    fn may_have_others(&self, s: usize) -> bool {
        let subgroup = &self.layout.subgroups[s];
        let helpers = self.helpers.lanes(subgroup.first, subgroup.size) != 0;
        self.layout.others[s] != 0 || helpers && self.tier != Tier::Maximal
    }

    /// The helpers of a tangle whose quad may be gone when it executes the operation (rule H6).
    fn without_quads(&self, op: usize, s: usize, tangle: u128) -> u128 {
        let without = &self.memory.learnt.without_quad;
        if without.is_empty() {
            return 0;
        }
        let subgroup = &self.layout.subgroups[s];
        let of = |mask: &Mask| mask.lanes(subgroup.first, subgroup.size);
        let fragments = tangle & !of(&self.helpers);
        let may_be_gone = |&lane: &usize| {
            without.contains(&(op, subgroup.first + lane)) && fragments & first_lanes(4) << (lane & !3) == 0
        };
        lanes(tangle).filter(may_be_gone).fold(0, |without, lane| without | 1 << lane)
    }

    /// The lanes of a subgroup that are fragments, and have not ended.
    pub(super) fn fragments(&self, s: usize) -> u128 {
        let subgroup = &self.layout.subgroups[s];
        let of = |mask: &Mask| mask.lanes(subgroup.first, subgroup.size);
        subgroup.live & !of(&self.helpers) & !of(&self.ended)
    }

    /// Takes note of what may be asked of quads later: those who execute an operation of a fragment shader have executed all that comes before it.
    fn note_quads(&mut self, op: usize, reach: Reach, s: usize, tangle: u128) {
        if self.orders_quads(s, tangle) {
            let certain = tangle & !self.without_quads(op, s, tangle);
            let fragments = self.fragments(s);
            self.quads[s].executed(op, reach, certain, fragments);
        }
    }

    /// True if it matters to quads that these lanes come here together, and they do for certain.
    pub(super) fn orders_quads(&self, s: usize, tangle: u128) -> bool {
        let subgroup = &self.layout.subgroups[s];
        let of_fragments = self.tier == Tier::Maximal && self.case.entry_point.draw().is_some() && !self.observing();
        of_fragments
            && self.lost.lanes(subgroup.first, subgroup.size) == 0
            && (!self.keyed || self.has_one_key(s, tangle))
    }

    /// True if the lanes have taken the same decisions since control flow was uniform.
    fn has_one_key(&self, s: usize, tangle: u128) -> bool {
        let first = self.layout.subgroups[s].first;
        let key = self.keys[first + tangle.trailing_zeros() as usize];
        lanes(tangle).all(|lane| self.keys[first + lane] == key)
    }

    fn nobody_lost_in_group(&self, s: usize) -> bool {
        let subgroup = &self.layout.subgroups[s];
        match self.tier {
            Tier::Plain => self.lost.is_empty(),
            _ => self.lost.lanes(subgroup.first, subgroup.size) == 0,
        }
    }

    /// The operation in one subgroup, with its taint.
    fn operate(&mut self, work: &mut OpWork<'_>, s: usize, tangle: u128) -> Result<(), Stop> {
        let subgroup = &self.layout.subgroups[s];
        let (first, size) = (subgroup.first, subgroup.size);
        let taints = work.operand_taint(first, size, tangle);
        if taints.blocked {
            // A uniform operand that is unknown: the result is, too.
            work.unknown.insert_lanes(first, tangle);
            return Ok(());
        }
        self.counts.overflows = self.counts.overflows || work.may_overflow(first, tangle);
        let undefined = work
            .apply(first, size, tangle, &mut |info, instance, out| self.rules.operate(info, instance, out))
            .map_err(|ub| Stop::Invalid(ub.into()))?;
        work.undefined.insert_lanes(first, undefined | taints.undefined);
        work.unknown.insert_lanes(first, taints.unknown);
        Ok(())
    }

    /// The operation as a device performs it: with its own tangle, and something where nothing is defined.
    fn operate_as_device(&mut self, work: &mut OpWork<'_>, s: usize, tangle: u128, u: &Mask) {
        let subgroup = &self.layout.subgroups[s];
        let (first, size) = (subgroup.first, subgroup.size);
        let live = subgroup.live;
        let of = |mask: &Mask| mask.lanes(first, size);
        let tangle = self.rules.tangle(&self.scopes, subgroup.live, tangle, &of);
        let helpers = of(&self.helpers) & tangle;
        let tangle = match helpers {
            0 => tangle,
            // The lanes that execute it get something in any case.
            _ => tangle & !helpers | self.rules.helpers_in_tangle(work.op.info, helpers),
        };
        let together = || self.together_by(first, work.op.info.reach, tangle).is_some();
        let divergent = self.keyed && (u.lanes(first, size) == 0 || !together());
        let open = divergent && self.is_open_to_device(work.op.id, s, tangle);
        if tangle == 0 {
            return;
        }
        for part in self.parts(first, tangle, divergent) {
            // What a faulty device makes of undefined behaviour is anything; here, nothing at all.
            let undefined = work
                .apply(first, size, part, &mut |info, instance, out| match open {
                    true => self.rules.operate_open(info, instance, live, out),
                    false => self.rules.operate(info, instance, out),
                })
                .unwrap_or(part);
            let bits = self.rules.undefined();
            for lane in lanes(undefined) {
                let bits = bits & work.op.scalar.bits();
                work.columns.iter_mut().for_each(|column| column[first + lane] = bits);
            }
        }
    }

    /// True if the device knows that the tier leaves the tangle open.
    fn is_open_to_device(&self, op: usize, s: usize, tangle: u128) -> bool {
        let Pass::Observe { visitors } = &self.pass else { return false };
        let visited = visitors.get(op * self.layout.subgroups.len() + s);
        let one_path = self.classes(self.layout.subgroups[s].first, tangle).len() == 1;
        self.tier != Tier::Maximal && visited.is_some_and(|&visited| visited != tangle || !one_path)
    }

    /// The instances that the device makes of the lanes that come by.
    fn parts(&mut self, first: usize, tangle: u128, divergent: bool) -> SmallVec<[u128; 4]> {
        match (divergent, self.tier) {
            (false, _) => smallvec::smallvec![tangle],
            (true, Tier::Maximal) => self.classes(first, tangle),
            (true, _) => self.join(first, tangle),
        }
    }

    /// The lanes on one path, for every path.
    fn classes(&self, first: usize, mut lanes_left: u128) -> SmallVec<[u128; 4]> {
        let mut classes = SmallVec::new();
        while lanes_left != 0 {
            let key = self.keys[first + lanes_left.trailing_zeros() as usize];
            let class = lanes(lanes_left).filter(|&k| self.keys[first + k] == key).fold(0, |m, k| m | 1 << k);
            lanes_left &= !class;
            classes.push(class);
        }
        classes
    }

    /// Puts lanes on different paths together as the device likes. They have one path from there on.
    fn join(&mut self, first: usize, tangle: u128) -> SmallVec<[u128; 4]> {
        let mut parts = SmallVec::<[u128; 4]>::new();
        for class in self.classes(first, tangle) {
            match self.rules.instance(parts.len()) {
                new if new >= parts.len() => parts.push(class),
                old => parts[old] |= class,
            }
        }
        for &part in &parts {
            let key = self.keys[first + part.trailing_zeros() as usize];
            lanes(part).for_each(|lane| self.keys[first + lane] = key);
        }
        parts
    }

    /// At tier maximal it is at the labels of a switch that units come together, or not (docs/rules.md, section X). `before` are the paths upon
    /// entry to the switch: only lanes that came to it together can.
    pub(super) fn join_at_label(&mut self, entered: &Mask, before: &Option<Saved>) {
        let (Some((before, _)), true) = (before, self.observing()) else { return };
        for subgroup in &self.layout.subgroups {
            let mut left = entered.lanes(subgroup.first, subgroup.size);
            while left != 0 {
                let key = before[subgroup.first + left.trailing_zeros() as usize];
                let tangle = lanes(left).filter(|lane| before[subgroup.first + lane] == key).fold(0, |m, k| m | 1 << k);
                self.join(subgroup.first, tangle);
                left &= !tangle;
            }
        }
    }
}

/// The result of an operation for a tangle.
pub(crate) struct Evaluated {
    pub columns: SmallVec<[Vec<u64>; 4]>,
    /// Lanes whose result is undefined.
    pub undefined: u128,
    /// Lanes whose result depends on an operand that is not known.
    pub unknown: u128,
}

impl Evaluated {
    /// The lanes whose result is not known.
    pub fn open(&self) -> u128 {
        self.undefined | self.unknown
    }

    /// True if the result is certainly defined, be it known or not.
    pub fn defined(&self, step: &Step<'_>, lane: usize) -> bool {
        let undefined = self.undefined | if step.op.may_be_undefined() { self.unknown } else { 0 };
        undefined >> lane & 1 == 0
    }
}

/// An operation executed by `tangle`; the operands have `size` slots. `None` if that is undefined behaviour.
pub(crate) fn evaluate(op: &OpNode, args: &[Value], size: usize, tangle: u128) -> Option<Evaluated> {
    let width = op.result_width();
    let columns = (0..width).map(|_| vec![0; size]).collect();
    let (undefined, unknown) = (Mask::empty(size), Mask::empty(size));
    let mut work = OpWork { op, args, columns, undefined, unknown };
    let taints = work.operand_taint(0, size, tangle);
    if taints.blocked {
        return Some(Evaluated { columns: work.columns, undefined: taints.undefined, unknown: tangle });
    }
    let undefined = work.apply(0, size, tangle, &mut |info, instance, out| (info.meaning)(instance, out)).ok()?;
    Some(Evaluated { columns: work.columns, undefined: undefined | taints.undefined, unknown: taints.unknown })
}

/// An operation on its way through the subgroups.
struct OpWork<'a> {
    op: &'a OpNode,
    args: &'a [Value],
    columns: SmallVec<[Vec<u64>; 4]>,
    undefined: Mask,
    unknown: Mask,
}

type Operate<'a> = dyn FnMut(&OpInfo, &Instance<'_>, &mut [u64]) -> Result<u128, Ub> + 'a;

/// Taint that reaches the results of one subgroup through operands.
#[derive(Default)]
struct OperandTaint {
    undefined: u128,
    unknown: u128,
    /// An operand that must be uniform is not known.
    blocked: bool,
}

impl OpWork<'_> {
    /// Operand columns of a subgroup; of the generic operand, component `c`.
    fn operands(&self, first: usize, size: usize, c: usize) -> SmallVec<[&[u64]; 8]> {
        let mut columns = SmallVec::new();
        for (param, arg) in self.op.info.params.iter().zip(self.args) {
            if *param == Param::Value {
                columns.push(&arg.columns[c][first..first + size]);
            } else {
                columns.extend(arg.columns.iter().map(|column| &column[first..first + size]));
            }
        }
        columns
    }

    /// True if it is a sum or product of integers that may leave their type, with all lanes of the tangle in one.
    fn may_overflow(&self, first: usize, tangle: u128) -> bool {
        let Some(fold) = self.op.info.op.fold().filter(|_| self.op.scalar.is_integer()) else { return false };
        let Some(operand) = self.args.first() else { return false };
        let of_lanes =
            |column: &[u64]| fold.may_overflow(self.op.scalar, lanes(tangle).map(|lane| column[first + lane]));
        operand.columns.iter().any(|column| of_lanes(column))
    }

    /// A vote of a group that is not known, of which only the lane itself is certainly part: "anyInvocationARB() is guaranteed to return
    /// true if <value> is true, and allInvocationsARB() is guaranteed to return false if <value> is false" (ARB_shader_group_vote).
    fn vote(&mut self, first: usize, size: usize, tangle: u128) {
        let taints = self.operand_taint(first, size, tangle);
        let tainted = taints.undefined | taints.unknown;
        for lane in lanes(tangle) {
            let slot = first + lane;
            let own = self.args.first().and_then(|arg| arg.columns.first()).map_or(0, |column| column[slot]);
            let decided = match self.op.info.op {
                SubgroupOp::Any => own != 0,
                SubgroupOp::All => own == 0,
                // One value does not decide whether all are equal, and of a vote that is not listed nothing is known: it is open.
                _ => false,
            };
            if decided && tainted >> lane & 1 == 0 {
                self.columns[0][slot] = own;
            } else {
                self.unknown.insert_lanes(first, 1 << lane);
            }
        }
    }

    fn apply(&mut self, first: usize, size: usize, tangle: u128, operate: &mut Operate<'_>) -> Result<u128, Ub> {
        let op = self.op;
        let mut undefined = 0;
        let has_value = op.info.params.contains(&Param::Value);
        let rounds = if has_value { op.width } else { 1 };
        let mut out = SmallVec::<[u64; 64]>::from_elem(0, size * self.columns.len().max(1));
        // What a vector operand gives that is not of its type holds if it holds for every component.
        let combined = has_value && op.info.gives != Gives::Same;
        for c in 0..rounds {
            {
                let args = self.operands(first, size, c);
                let component = Component { index: c, of: op.width };
                let (scalar, cluster, preserved) = (op.scalar, op.cluster, op.preserved);
                let instance = Instance { size, tangle, scalar, component, cluster, preserved, args: &args };
                undefined |= operate(op.info, &instance, &mut out)?;
            }
            if combined {
                for (part, column) in self.columns.iter_mut().enumerate() {
                    for lane in lanes(tangle) {
                        let so_far = if c == 0 { u64::MAX } else { column[first + lane] };
                        column[first + lane] = so_far & out[part * size + lane];
                    }
                }
            } else if has_value {
                lanes(tangle).for_each(|lane| self.columns[c][first + lane] = out[lane]);
            } else {
                for (c, column) in self.columns.iter_mut().enumerate() {
                    lanes(tangle).for_each(|lane| column[first + lane] = out[c * size + lane]);
                }
            }
        }
        Ok(undefined)
    }

    fn operand_taint(&self, first: usize, size: usize, tangle: u128) -> OperandTaint {
        let mut result = OperandTaint::default();
        for (i, (param, arg)) in self.op.info.params.iter().zip(self.args).enumerate() {
            let Some(taint) = &arg.taint else { continue };
            let tainted = taint.lanes.lanes(first, size) & tangle;
            if tainted == 0 {
                continue;
            }
            let reached = match (param, self.op.info.spread) {
                (
                    Param::UniformMask
                    | Param::UniformUint
                    | Param::BroadcastLane
                    | Param::QuadIndex
                    | Param::Partition,
                    _,
                ) => {
                    result.blocked = true;
                    tangle
                }
                (Param::Uint, _) | (_, Spread::Own) => tainted,
                (Param::Value, Spread::Moves | Spread::Combines) => self.carried(first, size, tangle, tainted, i),
                (Param::Value, Spread::Everyone) => {
                    let parts = self.op.info.reach.waiting(tangle).filter(|part| part & tainted != 0);
                    parts.fold(0, |reached, part| reached | part)
                }
                (Param::Predicate | Param::Mask, _) => tangle,
            };
            if taint.undefined {
                result.undefined |= reached;
            } else {
                result.unknown |= reached;
            }
        }
        result
    }

    /// The lanes whose result uses the generic operand of a tainted lane: the operation's own pattern, run on the taint.
    fn carried(&self, first: usize, size: usize, tangle: u128, tainted: u128, value_at: usize) -> u128 {
        // It combines the same lanes; a result is tainted if one of them is.
        let info = self.op.info.op.with_fold(Fold::Or).info();
        let column: SmallVec<[u64; 64]> = (0..size).map(|lane| (tainted >> lane & 1) as u64).collect();
        let mut args = self.operands(first, size, 0);
        args[value_at] = &column;
        let scalar = Scalar::Bool;
        let component = Component::SCALAR;
        let (cluster, preserved) = (self.op.cluster, false);
        let instance = Instance { size, tangle, scalar, component, cluster, preserved, args: &args };
        let mut out = SmallVec::<[u64; 64]>::from_elem(0, size);
        match (info.meaning)(&instance, &mut out) {
            Ok(_) => lanes(tangle).filter(|&lane| out[lane] != 0).fold(0, |mask, lane| mask | 1 << lane),
            Err(_) => tangle,
        }
    }
}

//! Expressions: columns of values for all lanes at once.

use std::rc::Rc;

use smallvec::SmallVec;
use tangle_program::case::InvocationId;
use tangle_program::ops::{self, BinaryOp, Gives, Intrinsic, Undefined};
use tangle_program::resource::ResourceClass;
use tangle_program::subgroup::{Severity, first_lanes};
use tangle_program::tree::Builtin;
use tangle_program::types::Scalar;

use super::{Frame, Machine, Stop};
use crate::lower::{Decision, Node};
use crate::mask::Mask;
use crate::rules::{Construct, Rules, Scope};
use crate::value::{Names, Provenance, Taint, Value};

#[derive(Clone, Copy)]
struct Choice {
    decision: Decision,
    construct: Construct,
    /// True if a subgroup operation stands behind the decision.
    tangled: bool,
}

/// The case has no data for an expression.
fn none(what: &str, k: usize) -> Stop {
    Stop::Invalid(format!("there is no {what} {k}"))
}

/// The value with taint only in the given lanes.
fn restricted(mut value: Value, lanes: &Mask) -> Value {
    if let Some(taint) = value.taint.take() {
        let lanes = taint.lanes.and(lanes);
        value.taint = (!lanes.is_empty()).then(|| Box::new(Taint { lanes, ..*taint }));
    }
    value
}

impl<'a, R: Rules> Machine<'a, R> {
    pub(super) fn eval(&mut self, frame: &Frame, node: &'a Node, a: &Mask, u: &Mask) -> Result<Value, Stop> {
        Ok(match node {
            Node::Const { bits } => self.constant(*bits),
            Node::Var(var) => frame.vars[*var].clone(),
            Node::Builtin(builtin) => self.builtin(*builtin),
            Node::Input(k) | Node::InputOf(k, _) if *k >= self.case.data.inputs.len() => return Err(none("input", *k)),
            Node::Input(k) => self.input(*k),
            Node::InputOf(k, index) => {
                let index = self.eval(frame, index, a, u)?;
                let words = &self.case.data.inputs[*k];
                let word = |&at: &u64| u64::from(words.get(at as usize).copied().unwrap_or(0));
                self.map_columns(index, |at, out| out.iter_mut().zip(at).for_each(|(out, at)| *out = word(at)))
            }
            Node::Flat(k) => self.flat(*k).ok_or_else(|| none("flat input", *k))?,
            Node::Uniform(k) => {
                self.constant(self.case.data.uniforms.get(*k).copied().ok_or_else(|| none("uniform", *k))?.into())
            }
            Node::Push(k) => {
                self.constant(self.case.data.push.get(*k).copied().ok_or_else(|| none("push", *k))?.into())
            }
            Node::Constant(k) => {
                let constant = self.case.data.constants.get(*k).copied().ok_or_else(|| none("constant", *k))?;
                let value = self.rules.specialised(constant);
                self.constant(value.into())
            }
            Node::Unary { op, scalar, arg } => {
                let arg = self.eval(frame, arg, a, u)?;
                self.map_columns(arg, |x, out| ops::unary(*op, *scalar, x, out))
            }
            Node::Binary { op, scalar, lhs, rhs } => {
                let lhs = self.eval(frame, lhs, a, u)?;
                let rhs = self.eval(frame, rhs, a, u)?;
                self.binary(*op, *scalar, lhs, &rhs, a)?
            }
            Node::ShortCircuit { decision, short_on, lhs, rhs, tangled } => {
                let cond = self.eval(frame, lhs, a, u)?;
                let decision = Choice { decision: *decision, construct: Construct::RightOperand, tangled: *tangled };
                let parts = if *short_on { [None, Some(&**rhs)] } else { [Some(&**rhs), None] };
                self.choose(frame, decision, cond, parts, a, u)?
            }
            Node::Select { decision, cond, then, otherwise, tangled } => {
                let cond = self.eval(frame, cond, a, u)?;
                let decision = Choice { decision: *decision, construct: Construct::SelectArm, tangled: *tangled };
                self.choose(frame, decision, cond, [Some(&**then), Some(&**otherwise)], a, u)?
            }
            Node::Cast { from, to, arg } => {
                let arg = self.eval(frame, arg, a, u)?;
                let (from, to) = (*from, *to);
                let is_float = from.is_float() || to.is_float();
                if from == to || !is_float && (to.bits() == from.bits() || from.bits() == 1) {
                    return Ok(arg);
                }
                self.map_columns(arg, |x, out| out.iter_mut().zip(x).for_each(|(o, &x)| *o = ops::cast(from, to, x)))
            }
            Node::Intrinsic { op, scalar, width, args } => {
                let args = args.iter().map(|arg| self.eval(frame, arg, a, u));
                let args = args.collect::<Result<SmallVec<[Value; 4]>, _>>()?;
                self.intrinsic((*op, *scalar), *width, &args, a)?
            }
            Node::Vector(args) => {
                let mut vector = Value::of(SmallVec::new());
                let mut names = SmallVec::new();
                let mut named = false;
                for arg in args {
                    let arg = self.eval(frame, arg, a, u)?;
                    named |= arg.names.is_some();
                    match arg.names {
                        Some(part) => names.extend(part.0),
                        None => names.extend(arg.columns.iter().map(|_| Rc::clone(&self.nameless))),
                    }
                    vector.columns.extend(arg.columns);
                    vector.taint = Value::join(vector.taint, &arg.taint);
                    vector.from = vector.from.or(&arg.from);
                }
                vector.names = named.then(|| Box::new(Names(names)));
                vector
            }
            Node::Component { arg, index } => {
                let arg = self.eval(frame, arg, a, u)?;
                let name = |names: &Names| Box::new(Names(smallvec::smallvec![Rc::clone(&names.0[*index])]));
                let names = arg.names.as_deref().map(name);
                Value { columns: smallvec::smallvec![Rc::clone(&arg.columns[*index])], names, ..arg }
            }
            Node::Subgroup(op) => self.subgroup(frame, op, a, u)?,
            Node::Resource { class, non_uniform, index } => {
                let index = self.eval(frame, index, a, u)?;
                self.resource(*class, *non_uniform, &index, a)
            }
            Node::Load { array, index } => self.load(frame, *array, index, a, u)?,
            Node::Element { of, accessed, index, width } => {
                let of = self.eval(frame, of, a, u)?;
                let index = self.eval(frame, index, a, u)?;
                self.element(&of, *accessed, &index, *width, a)
            }
        })
    }

    /// The word of the resource that each lane chooses (rule Y11).
    fn resource(&mut self, class: ResourceClass, non_uniform: bool, index: &Value, a: &Mask) -> Value {
        let words = &self.case.data.resources;
        let lanes = a.minus(&self.lost);
        let mut chosen: Vec<(usize, u64)> = lanes.slots().map(|slot| (slot, index.columns[0][slot])).collect();
        self.rules.resources(class, non_uniform, &index.columns[0], &mut chosen);
        let mut column = vec![0; self.layout.slots];
        for (slot, which) in chosen {
            // Where the index is undefined, and on a faulty device, it may be out of range.
            column[slot] = words.get(which as usize % words.len().max(1)).copied().unwrap_or(0).into();
        }
        Value { taint: index.taint.clone(), from: index.from.clone(), ..Value::scalar(column) }
    }

    fn constant(&self, bits: u64) -> Value {
        if bits == 0 { Value::shared(Rc::clone(&self.zero)) } else { Value::scalar(vec![bits; self.layout.slots]) }
    }

    fn input(&mut self, k: usize) -> Value {
        if let Some(value) = &self.inputs[k] {
            return value.clone();
        }
        let data = &self.case.data.inputs[k];
        let ordinal = |slot| self.case.entry_point.ordinal(self.layout.invocation(slot));
        let at = |slot| u64::from(data.get(ordinal(slot)).copied().unwrap_or(0));
        let value = Value::scalar((0..self.layout.slots).map(at).collect());
        self.inputs[k] = Some(value.clone());
        value
    }

    /// The words of the triangles that invocations are of.
    fn flat(&mut self, k: usize) -> Option<Value> {
        let mut column = vec![0; self.layout.slots];
        let (launch, draw) = (self.case.entry_point.workgroups(), self.case.entry_point.draw()?);
        for slot in self.layout.live.slots() {
            let [.., depth] = launch.position(self.layout.invocation(slot).index);
            let (triangle, vertex) = self.rules.provoking_vertex(draw.slice(depth).triangle);
            column[slot] = self.case.data.flat(k, triangle, vertex)?.into();
        }
        Some(Value::scalar(column))
    }

    fn builtin(&mut self, builtin: Builtin) -> Value {
        if matches!(builtin, Builtin::Helper | Builtin::HelperInput) {
            let mut column = vec![0; self.layout.slots];
            for slot in self.layout.live.slots() {
                let at_entry = self.layout.helpers.contains(slot);
                let is_helper = match builtin {
                    Builtin::HelperInput => self.rules.helper_input(at_entry),
                    _ => self.rules.is_helper(self.helpers.contains(slot), at_entry),
                };
                column[slot] = is_helper.into();
            }
            return Value::scalar(column);
        }
        let cached = builtin as usize;
        if let Some(value) = &self.builtins[cached] {
            return value.clone();
        }
        let width = if builtin.ty().is_scalar() { 1 } else { 4 };
        let mut columns: SmallVec<[Vec<u64>; 4]> = (0..width).map(|_| vec![0; self.layout.slots]).collect();
        for slot in self.layout.live.slots() {
            let value =
                self.rules.builtin(builtin, slot % self.layout.subgroups[0].size, self.builtin_at(builtin, slot));
            for (c, column) in columns.iter_mut().enumerate() {
                column[slot] = u64::from((value >> (32 * c)) as u32);
            }
        }
        let value = Value::of(columns.into_iter().map(Rc::new).collect());
        self.builtins[cached] = Some(value.clone());
        value
    }

    /// Rule P14: the masks ignore which lanes are active, and have no bits from the subgroup size on.
    fn builtin_at(&self, builtin: Builtin, slot: usize) -> u128 {
        let (_, lane) = self.layout.lane_of(slot);
        let size = self.layout.subgroups[0].size;
        let InvocationId { group, index } = self.layout.invocation(slot);
        let [x, y, z] = self.case.entry_point.workgroups().position(index).map(u128::from);
        let below = first_lanes(lane);
        let own = 1u128 << lane;
        match builtin {
            Builtin::Lane => lane as u128,
            Builtin::SubgroupSize => size as u128,
            Builtin::SubgroupId => u128::from(self.layout.reported[slot].0),
            Builtin::NumSubgroups => u128::from(self.layout.reported[slot].1),
            Builtin::LocalIndex => u128::from(index),
            Builtin::LocalX => x,
            Builtin::LocalY => y,
            Builtin::LocalZ => z,
            Builtin::WorkgroupIndex => u128::from(group.0),
            Builtin::EqMask => own,
            Builtin::GeMask => first_lanes(size) & !below,
            Builtin::GtMask => first_lanes(size) & !below & !own,
            Builtin::LeMask => below | own,
            Builtin::LtMask => below,
            // Not cached: it changes, and the other goes with it.
            Builtin::Helper | Builtin::HelperInput => 0,
        }
    }

    fn map_columns(&self, value: Value, f: impl Fn(&[u64], &mut [u64])) -> Value {
        let columns = value.columns.iter().map(|column| {
            let mut out = vec![0; column.len()];
            f(column, &mut out);
            Rc::new(out)
        });
        Value { columns: columns.collect(), names: None, ..value }
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        scalar: Scalar,
        lhs: Value,
        rhs: &Value,
        a: &Mask,
    ) -> Result<Value, Stop> {
        let (does, does_on) = self.rules.binary(op, scalar);
        let columns = lhs.columns.iter().zip(&rhs.columns).map(|(x, y)| {
            let mut out = vec![0; x.len()];
            ops::binary(does, does_on, x, y, &mut out);
            Rc::new(out)
        });
        let columns = columns.collect();
        let mut taint = Value::join(lhs.taint, &rhs.taint);
        if ops::binary_may_be_undefined(op) && !self.observing() {
            let mut undefined = self.none();
            let known = |slot: &usize| taint.as_ref().is_none_or(|taint| !taint.lanes.contains(*slot));
            for slot in a.slots().filter(known) {
                for (x, y) in lhs.columns.iter().zip(&rhs.columns) {
                    match ops::binary_undefined(op, scalar, x[slot], y[slot]) {
                        Some(Undefined::Behaviour) => {
                            return Err(Stop::Invalid(format!("'{}' has undefined behaviour", op.info().name)));
                        }
                        Some(Undefined::Value) => undefined.insert(slot),
                        None => {}
                    }
                }
            }
            if !undefined.is_empty() {
                taint = Value::join(taint, &Some(Box::new(Taint { lanes: undefined, undefined: true })));
            }
        }
        Ok(Value { columns, taint, from: lhs.from.or(&rhs.from), names: None })
    }

    fn intrinsic(
        &mut self,
        (op, scalar): (Intrinsic, Scalar),
        width: usize,
        args: &[Value],
        a: &Mask,
    ) -> Result<Value, Stop> {
        let (does, does_on) = self.rules.intrinsic(op, scalar);
        let mut taint = None;
        let mut from = Provenance::default();
        for arg in args {
            taint = Value::join(taint, &arg.taint);
            from = from.or(&arg.from);
        }
        let mut undefined = self.none();
        let observing = self.observing();
        let known = |slot: usize| !observing && taint.as_ref().is_none_or(|taint| !taint.lanes.contains(slot));
        let mut columns = SmallVec::new();
        for c in 0..width {
            let mut out = vec![0; self.layout.slots];
            let gives = op.info().gives;
            let part =
                Rc::new(if matches!(gives, Gives::Parts(_)) { vec![c as u64; self.layout.slots] } else { Vec::new() });
            let row: SmallVec<[&Rc<Vec<u64>>; 4]> = match gives {
                // Offsets and bit counts stay scalar when the value is a vector.
                Gives::Same | Gives::Int | Gives::Float | Gives::Bits | Gives::BitsOf(_) => {
                    args.iter().map(|arg| &arg.columns[c.min(arg.columns.len() - 1)]).collect()
                }
                Gives::Bool | Gives::Whole(_) => args[0].columns.iter().collect(),
                Gives::Parts(_) => SmallVec::from_slice(&[&args[0].columns[0], &part]),
            };
            let mut operands: SmallVec<[u64; 4]> = SmallVec::from_elem(0, row.len());
            for slot in a.slots() {
                for (operand, column) in operands.iter_mut().zip(&row) {
                    *operand = column[slot];
                }
                out[slot] = ops::intrinsic(does, does_on, &operands);
                match ops::intrinsic_undefined(op, scalar, &operands) {
                    Some(Undefined::Behaviour) if known(slot) => {
                        return Err(Stop::Invalid(format!("'{}' has undefined behaviour", op.info().name)));
                    }
                    Some(_) => undefined.insert(slot),
                    None => {}
                }
            }
            columns.push(Rc::new(out));
        }
        if !undefined.is_empty() && !observing {
            taint = Value::join(taint, &Some(Box::new(Taint { lanes: undefined, undefined: true })));
        }
        Ok(Value { columns, taint, from, names: None })
    }

    /// `?:`, `&&` and `||`: an if/else with a value (rule G1). A missing part keeps the condition's value.
    fn choose(
        &mut self,
        frame: &Frame,
        choice: Choice,
        cond: Value,
        [then, otherwise]: [Option<&'a Node>; 2],
        a: &Mask,
        u: &Mask,
    ) -> Result<Value, Stop> {
        let mut open = None;
        let steered = (cond.from.severity > Severity::Hard).then(|| self.steering());
        let (p, q) = match &cond.taint {
            // Without a tangled operation in it, an unknown choice has no effect but an unknown result.
            Some(taint) if taint.lanes.meets(a) && !choice.tangled && !taint.undefined => {
                let known = Value { taint: None, ..cond.clone() };
                open = Some(taint.clone());
                self.decide(&known, &a.minus(&taint.lanes), choice.construct)?
            }
            // An undefined left operand without control flow behind it: a plain logical operation on an undefined value.
            _ => self.decide(&cond, a, choice.construct)?,
        };
        self.note_path(choice.decision, &p, 1);
        self.note_path(choice.decision, &q, 0);
        let mut result = None::<Value>;
        for (part, lanes) in [(then, &p), (otherwise, &q)] {
            let value = match part {
                Some(_) if lanes.is_empty() => continue,
                Some(node) => {
                    let uniform = self.whole(u, lanes);
                    self.scopes.push(Scope { construct: choice.construct, reached: a.clone(), entered: lanes.clone() });
                    let value = self.eval(frame, node, lanes, &uniform);
                    self.scopes.pop();
                    value?
                }
                None => Value { taint: None, ..cond.clone() },
            };
            match &mut result {
                None => result = Some(restricted(value, lanes)),
                Some(result) => result.set(&value, lanes),
            }
        }
        let mut result = result.unwrap_or_else(|| Value { taint: None, ..cond.clone() });
        result.from = result.from.or(&cond.from);
        // The lanes are together again: only the value rests on the choice.
        steered.into_iter().for_each(|saved| self.put_back(saved));
        result.taint = Value::join(result.taint, &open);
        if !self.lost.is_empty() {
            return Ok(result);
        }
        let u = self.whole(u, &p.or(&q));
        self.restart_paths(&u);
        Ok(result)
    }
}

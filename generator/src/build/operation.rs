//! Subgroup operations with operands that their rows of the table allow.
//!
//! An operation whose result the specifications may leave undefined comes in two kinds: *certain* ones, whose operands make the result
//! defined for every tangle (`subgroupShuffle(v, subgroupBroadcastFirst(lane))`), and free ones, whose result is
//! [`Class::MaybeUndefined`].

use tangle_program::case::{SpecConstant, SpirvVersion, SubgroupSize};
use tangle_program::ops::{BinaryOp, UnaryOp};
use tangle_program::subgroup::{Category, Defined, Fold, Gives, OpInfo, Param, SubgroupOp, TABLE};
use tangle_program::tree::{Block, Builtin, Expr, SubgroupCall, VarId};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::frame::Key;
use super::term::{Want, as_number, bin, cast, lane, number, uint};
use crate::class::Class;

/// Whether the operands of an operation make its result defined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    Certain,
    Free,
}

impl Builder<'_> {
    /// An operation that gives `ty` and stays within the class.
    pub(crate) fn operation_of(&mut self, ty: Type, class: Class) -> Option<Expr> {
        let gives = |info: &OpInfo| match info.gives {
            Gives::Nothing => false,
            Gives::Same if info.op.starts_infinite(ty.scalar) && class < Class::MaybeUndefined => false,
            Gives::Same => info.scalars.contains(&ty.scalar),
            Gives::Bool => ty == Type::BOOL,
            Gives::Uint => ty == Type::UINT,
            Gives::Mask => ty == Type::MASK,
        };
        let info = self.choose(class, gives)?;
        let value = if info.gives == Gives::Same { ty } else { self.value_type(info) };
        Some(self.call(info, value, class).0)
    }

    /// Any operation with a result, of any type, with its type and class.
    pub(crate) fn any_operation(&mut self) -> Option<(Expr, Type, Class)> {
        let info = self.choose(Class::MaybeUndefined, |info| info.gives != Gives::Nothing)?;
        let value = self.value_type(info);
        let (expr, class) = self.call(info, value, Class::MaybeUndefined);
        let ty = info.result_type(Some(value)).expect("it gives something");
        Some((expr, ty, class))
    }

    pub(crate) fn choose(&mut self, class: Class, fits: impl Fn(&OpInfo) -> bool) -> Option<&'static OpInfo> {
        let weight = |(&weight, info): (&u32, &OpInfo)| {
            if weight > 0 && fits(info) && self.within(info, class) { weight } else { 0 }
        };
        let weights: [u32; TABLE.len()] = std::array::from_fn(|row| weight((&self.weights.ops[row], &TABLE[row])));
        if weights.iter().all(|&weight| weight == 0) {
            return None;
        }
        Some(&TABLE[self.draw.index(weights.into_iter())])
    }

    /// True if the operation can be used here and can stay within the class.
    fn within(&self, info: &OpInfo, class: Class) -> bool {
        // Derivatives have statements of their own.
        if info.category == Category::Derivative {
            return false;
        }
        if info.tangle_dependent() && self.frame.flow.class() > class {
            return false;
        }
        !info.may_be_undefined() || class == Class::MaybeUndefined || self.can_be_certain(info)
    }

    /// True if there are operands that make the result defined, and worth while.
    fn can_be_certain(&self, info: &OpInfo) -> bool {
        match info.defined {
            Defined::LaneInTangle => self.has_dynamic_broadcast() && self.frame.flow.tangle_is_stable(),
            Defined::OwnLaneOrInTangle | Defined::BitIndex | Defined::MaskInTangle | Defined::FullMask => true,
            Defined::Always | Defined::Never | Defined::ZeroSecond => false,
        }
    }

    /// A type for the generic operand.
    pub(crate) fn value_type(&mut self, info: &OpInfo) -> Type {
        if info.scalars.is_empty() {
            return Type::UINT;
        }
        let scalars = self.weighted_scalars(info.scalars);
        let scalar = self.draw.weighted(&scalars);
        let width = if self.draw.percent(self.weights.vectors) { 2 + self.draw.below(3) as u8 } else { 1 };
        Type::vector(scalar, width)
    }

    pub(crate) fn call(&mut self, info: &'static OpInfo, value: Type, class: Class) -> (Expr, Class) {
        let operands = match info.may_be_undefined() {
            false => Operands::Certain,
            true if !self.can_be_certain(info) => Operands::Free,
            true if class < Class::MaybeUndefined || self.draw.percent(55) => Operands::Certain,
            true => Operands::Free,
        };
        // Undefined operands are legal, and make nothing to check.
        let inner = match class {
            Class::MaybeUndefined if operands == Operands::Free && self.draw.percent(12) => class,
            _ => class.min(self.frame.flow.class()),
        };
        let args: Vec<Expr> =
            info.params.iter().map(|&param| self.operand(info.op, param, value, inner, operands)).collect();
        let own = if info.tangle_dependent() { self.frame.flow.class() } else { Class::Clean };
        let open = operands == Operands::Free || info.op.starts_infinite(value.scalar);
        let undefined = if open { Class::MaybeUndefined } else { Class::Clean };
        let result = own.max(inner).max(undefined);
        let cluster = info.clustered.then(|| self.cluster());
        (Expr::Subgroup(SubgroupCall { op: info.op, args, cluster }), result)
    }

    /// A cluster size that fits into every subgroup.
    pub(crate) fn cluster(&mut self) -> u32 {
        let most = self.sure_size().max(1).ilog2();
        let log = self.draw.weighted(&[(6, 2), (5, 1), (1, 0), (3, 3), (2, 4), (1, 5), (1, 6)]);
        1 << log.min(most)
    }

    fn operand(&mut self, op: SubgroupOp, param: Param, value: Type, class: Class, operands: Operands) -> Expr {
        match param {
            Param::Value => match op.fold() {
                Some(fold) if value.is_scalar() && value.scalar != Scalar::Bool && self.draw.percent(30) => {
                    self.revealing(fold, value.scalar)
                }
                _ if op == SubgroupOp::AllEqual && self.draw.percent(50) => self.nearly_equal(value),
                _ => self.moved_value(value, class),
            },
            Param::Predicate => self.expr(Type::BOOL, Want::of(class, 1)),
            Param::Mask => self.mask_operand(op, class, operands),
            Param::UniformMask => self.uniform_mask(class),
            Param::Uint => self.lane_operand(op, class, operands),
            Param::BroadcastLane => self.broadcast_lane(operands),
            Param::UniformUint => self.uniform_uint(7),
            Param::QuadIndex => self.quad_index(),
            Param::Partition => self.partition(),
        }
    }

    /// A lane of a quad: a literal, or a specialisation constant where that may be.
    fn quad_index(&mut self) -> Expr {
        let known = |constant: &SpecConstant| constant.default.max(constant.value) < 4;
        let small = (0..).zip(&self.data.constants).find(|(_, constant)| known(constant)).map(|(k, _)| k);
        match small {
            Some(k) if self.entry_point.spirv >= SpirvVersion::V1_5 && self.draw.percent(50) => Expr::Constant(k),
            _ => uint(self.draw.below(4)),
        }
    }

    /// Lanes by a key that few of them share, all together, or each alone.
    pub(crate) fn partition(&mut self) -> Expr {
        match self.draw.below(10) {
            0 => return self.ballot(Expr::Bool(true)),
            1 => return Expr::Builtin(Builtin::EqMask),
            _ => {}
        }
        let key = match self.draw.below(3) {
            0 => self.boolean(Want::own(1)),
            1 => bin(BinaryOp::BitAnd, lane(), uint(self.draw.pick(&[1, 2, 3, 5, 6]))),
            _ => {
                let word = self.varying(Scalar::Uint, Want::own(1));
                bin(BinaryOp::BitAnd, word, uint(self.draw.pick(&[1, 3, 5])))
            }
        };
        Expr::subgroup(SubgroupOp::Partition, [key])
    }

    /// A value whose combination shows which lanes took part.
    pub(crate) fn revealing(&mut self, fold: Fold, scalar: Scalar) -> Expr {
        use BinaryOp::{Add, BitAnd, BitOr, BitXor, Mul, Shl};
        let bit = || bin(Shl, number(scalar, 1), bin(BitAnd, lane(), uint(scalar.size() - 1)));
        match fold {
            Fold::Or | Fold::Xor => return bit(),
            Fold::And => return Expr::unary(UnaryOp::BitNot, bit()),
            _ => {}
        }
        let word = match fold {
            Fold::Add => match self.draw.below(3) {
                0 => uint(1),
                1 => bin(Add, lane(), uint(1)),
                _ if scalar.is_float() => bin(BitXor, lane(), uint(5)),
                _ => return bit(),
            },
            // Odd numbers: no product of them is 0.
            Fold::Mul => bin(BitOr, self.varying(Scalar::Uint, Want::own(0)), uint(1)),
            Fold::Min => bin(BitXor, lane(), uint(self.draw.below(8))),
            _ => bin(BitAnd, bin(Mul, lane(), uint(self.draw.pick(&[5, 3, 11, 7]))), uint(15)),
        };
        as_number(scalar, word)
    }

    /// A value that is the same everywhere but for one bit of one component in some lanes.
    fn nearly_equal(&mut self, ty: Type) -> Expr {
        let odd = self.draw.below(ty.width.into());
        let parts: Vec<Expr> = (0..u32::from(ty.width)).map(|k| self.part_that_differs(ty.scalar, k == odd)).collect();
        if ty.is_scalar() { parts.into_iter().next().expect("a scalar has one part") } else { Expr::Vector(ty, parts) }
    }

    /// A scalar that is the same everywhere, or differs in one bit.
    fn part_that_differs(&mut self, scalar: Scalar, differs: bool) -> Expr {
        let cond = if differs { self.boolean(Want::own(0)) } else { Expr::Bool(self.draw.percent(50)) };
        match scalar {
            Scalar::Bool => cond,
            _ if scalar.is_float() => {
                let base = number(scalar, self.draw.below(8));
                if differs { bin(BinaryOp::Add, base, cast(scalar, cond)) } else { base }
            }
            _ => {
                let word = self.constant_word();
                let base = as_number(scalar, word);
                let bit = if self.draw.percent(50) { scalar.size() - 1 } else { self.draw.below(scalar.size()) };
                if differs {
                    bin(BinaryOp::BitXor, base, bin(BinaryOp::Shl, cast(scalar, cond), uint(bit)))
                } else {
                    base
                }
            }
        }
    }

    /// The value an operation moves or combines: divergent mostly, sometimes the same everywhere.
    fn moved_value(&mut self, ty: Type, class: Class) -> Expr {
        if ty.is_scalar() && ty.scalar != Scalar::Bool && self.draw.percent(10) {
            let word = self.constant_word();
            return as_number(ty.scalar, word);
        }
        let want = Want::of(class, self.draw.below(3));
        match ty {
            Type { scalar: Scalar::Double, width: 1, .. } if self.draw.percent(50) => {
                self.fraction(Scalar::Double, want)
            }
            Type { scalar, width: 1, .. } if scalar != Scalar::Bool => self.varying(scalar, want),
            _ => self.expr(ty, want),
        }
    }

    fn ballot(&mut self, predicate: Expr) -> Expr {
        Expr::subgroup(SubgroupOp::Ballot, [predicate])
    }

    fn mask_operand(&mut self, op: SubgroupOp, class: Class, operands: Operands) -> Expr {
        use SubgroupOp as Op;
        if op == Op::BallotBitExtract || operands == Operands::Free {
            if let (true, Some(var)) = (self.draw.percent(70), self.variable(Type::MASK, class)) {
                return Expr::Var(var);
            }
            if self.draw.percent(30) || self.frame.flow.class() > class {
                return self.vector(Type::MASK, Want::of(class, 0));
            }
        }
        // Bits of lanes outside the tangle are read differently by different texts: only ballots of this very tangle are certain
        // (rule P5). The lowest bit of an empty one is undefined.
        let whole = matches!(op, Op::BallotFindLsb | Op::BallotFindMsb) && operands == Operands::Certain;
        let predicate = if whole { Expr::Bool(true) } else { self.boolean(Want::of(class, 1)) };
        self.ballot(predicate)
    }

    fn uniform_mask(&mut self, class: Class) -> Expr {
        if let (Some(key), true) = (self.key_here(Type::MASK), self.draw.percent(60)) {
            return key;
        }
        if !self.frame.flow.tangle_is_stable() || self.draw.percent(15) {
            let words = (0..4).map(|_| self.constant_word()).collect();
            return Expr::Vector(Type::MASK, words);
        }
        let predicate = self.boolean(Want::of(class, 2));
        self.ballot(predicate)
    }

    /// A lane that is certainly in the tangle.
    pub(crate) fn member(&mut self) -> Expr {
        let all = |b: &mut Self, op| {
            let ballot = b.ballot(Expr::Bool(true));
            Expr::subgroup(op, [ballot])
        };
        let arithmetic = self.config.categories.contains(&Category::Arithmetic);
        let ballot = self.config.categories.contains(&Category::Ballot);
        match self.draw.below(6) {
            1 | 2 if ballot => Expr::subgroup(SubgroupOp::BroadcastFirst, [lane()]),
            3 if ballot => all(self, SubgroupOp::BallotFindLsb),
            4 if ballot => all(self, SubgroupOp::BallotFindMsb),
            5 if arithmetic => {
                let fold = self.draw.pick(&[Fold::Max, Fold::Min]);
                Expr::subgroup(SubgroupOp::Reduce(fold), [lane()])
            }
            _ => lane(),
        }
    }

    /// A lane index, xor mask or distance.
    fn lane_operand(&mut self, op: SubgroupOp, class: Class, operands: Operands) -> Expr {
        use BinaryOp::{Add, BitAnd, BitXor, Sub};
        let size = || Expr::Builtin(Builtin::SubgroupSize);
        let below_size = |x: Expr| bin(BitAnd, x, bin(Sub, size(), uint(1)));
        let defined = Want::of(class.min(Class::Unpredictable), 1);
        match (op, operands) {
            (SubgroupOp::BallotBitExtract, Operands::Certain) => {
                match (self.entry_point.subgroup_size, self.draw.below(4)) {
                    (_, 0 | 1) => lane(),
                    (SubgroupSize::Required(size), _) => uint(self.draw.below(size)),
                    _ => uint(0),
                }
            }
            (_, Operands::Certain) if self.frame.flow.class() <= class => self.member(),
            (_, Operands::Certain) => lane(),
            (SubgroupOp::Shuffle | SubgroupOp::BallotBitExtract, Operands::Free) => match self.draw.below(8) {
                0 => bin(BitXor, lane(), uint(1)),
                1 => below_size(bin(Add, lane(), uint(1))),
                2 => bin(Sub, bin(Sub, size(), uint(1)), lane()),
                3 => uint(self.draw.below(4)),
                4 => bin(BitXor, lane(), uint(self.draw.pick(&[1, 2, 3, 4, 7]))),
                5 => self.uniform_uint(3),
                _ => below_size(self.arithmetic(Scalar::Uint, defined)),
            },
            (_, Operands::Free) => match self.draw.below(8) {
                0 => uint(1),
                1..=3 => {
                    let most = (self.sure_size() / 2).max(8);
                    uint(self.draw.pick(&[1, 2, 3, 4, 5, 8, 16, 32, 64]).min(most))
                }
                4 => self.uniform_uint(3),
                5 | 6 => bin(BitAnd, lane(), uint(self.draw.pick(&[1, 2, 3]))),
                _ => bin(BitAnd, self.arithmetic(Scalar::Uint, defined), uint(3)),
            },
        }
    }

    fn broadcast_lane(&mut self, operands: Operands) -> Expr {
        if operands == Operands::Certain {
            let ballot = self.ballot(Expr::Bool(true));
            return match self.draw.below(3) {
                0 | 1 => Expr::subgroup(SubgroupOp::BroadcastFirst, [lane()]),
                _ => Expr::subgroup(SubgroupOp::BallotFindLsb, [ballot]),
            };
        }
        let keyed = !self.frame.keys.is_empty();
        if self.has_dynamic_broadcast() && self.draw.percent(if keyed { 80 } else { 40 }) {
            return self.uniform_uint(3);
        }
        let last = self.sure_size().max(1) - 1;
        uint(self.draw.pick(&[0, 1, 2, 3, last, 5]).min(last))
    }

    /// One of the keys of a type that may be used here.
    fn key_here(&mut self, ty: Type) -> Option<Expr> {
        let exact = self.frame.flow.is_exact() && self.frame.flow.tangle_is_stable();
        let fits = |key: &&Key| key.ty == ty && (exact || !key.exact);
        let keys: Vec<&Expr> = self.frame.keys.iter().filter(fits).map(|key| &key.expr).collect();
        if keys.is_empty() { None } else { Some(self.draw.pick(&keys).clone()) }
    }

    /// What is made where these keys are known, and those that it makes itself.
    pub(crate) fn knowing<R>(&mut self, keys: impl IntoIterator<Item = Key>, make: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.frame.keys.len();
        self.frame.keys.extend(keys);
        let made = make(self);
        self.frame.keys.truncate(before);
        made
    }

    /// `k = …;`: what operands have to be, in a variable that is known to the end of the block.
    pub(crate) fn uniform_variable(&mut self, out: &mut Block) {
        let masks = self.has(SubgroupOp::InverseBallot) && self.draw.percent(35);
        let (ty, value) = match masks {
            true => (Type::MASK, self.uniform_mask(Class::Clean)),
            false => (Type::UINT, self.uniform_uint(7)),
        };
        let var = self.private("same", ty);
        self.set(var, value, out);
        let exact = self.frame.flow.tangle_is_stable();
        self.frame.keys.push(Key { expr: Expr::Var(var), ty, exact });
        self.keyed_operation(out);
    }

    /// `k = …; loop { … k = k + …; … }`: the body of a loop that carries what operands have to be, from one iteration to the next.
    pub(crate) fn carrying(&mut self, var: VarId, make: impl FnOnce(&mut Self) -> Block) -> Block {
        let key = Key { expr: Expr::Var(var), ty: Type::UINT, exact: true };
        self.knowing([key], |b| {
            let mut out = Vec::new();
            if b.draw.percent(50) {
                b.keyed_operation(&mut out);
            }
            let step = b.uniform_uint(3);
            let op = b.draw.pick(&[BinaryOp::Add, BinaryOp::BitXor, BinaryOp::Add, BinaryOp::Sub]);
            b.set(var, bin(op, Expr::Var(var), step), &mut out);
            b.keyed_operation(&mut out);
            out.extend(make(b));
            out
        })
    }

    /// An operation with an operand that must be uniform, with its type and class.
    pub(crate) fn uniform_operation(&mut self) -> Option<(Expr, Type, Class)> {
        let fits = |param: &Param| matches!(param, Param::BroadcastLane | Param::UniformUint | Param::UniformMask);
        let info = self.choose(Class::MaybeUndefined, |info| info.params.iter().any(fits))?;
        let value = self.value_type(info);
        let (expr, class) = self.call(info, value, Class::MaybeUndefined);
        Some((expr, info.result_type(Some(value))?, class))
    }

    /// A uint up to `most` (all ones) that is the same for all lanes that may execute this together.
    pub(crate) fn uniform_uint(&mut self, most: u32) -> Expr {
        let masked = |x: Expr| bin(BinaryOp::BitAnd, x, uint(most));
        let from_tangle = self.frame.flow.tangle_is_stable() && self.frame.flow.is_exact();
        if let (Some(key), true) = (self.key_here(Type::UINT), self.draw.percent(70)) {
            return masked(key);
        }
        match self.draw.below(8) {
            0..=2 => uint(self.draw.below(most + 1)),
            6 if from_tangle && self.has(SubgroupOp::BroadcastFirst) => {
                let value = self.arithmetic(Scalar::Uint, Want::of(Class::Clean, 1));
                masked(Expr::subgroup(SubgroupOp::BroadcastFirst, [value]))
            }
            7 if from_tangle && self.has(SubgroupOp::Reduce(Fold::Add)) => {
                let fold = self.draw.pick(&[Fold::Add, Fold::Max, Fold::Xor]);
                let value = self.arithmetic(Scalar::Uint, Want::of(Class::Clean, 1));
                masked(Expr::subgroup(SubgroupOp::Reduce(fold), [value]))
            }
            _ => masked(self.constant_word()),
        }
    }
}

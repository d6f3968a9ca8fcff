//! Expressions over a lane's own values, and the operations inside them. Which kind comes next: [`table`].

mod table;

use tangle_program::case::SpirvVersion;
use tangle_program::ops::{BinaryOp, Gives, Intrinsic, UnaryOp};
use tangle_program::subgroup::SubgroupOp;
use tangle_program::tree::{Builtin, Expr, VarId};
use tangle_program::types::{Scalar, Type};

use super::Builder;
use super::data::BOUNDARIES;
use super::frame::Role;
use super::term::{Operations, Want, as_number, bin, cast, lane, number, uint};
use crate::class::Class;
use crate::profile::Profile;
pub(super) use table::ARITHMETIC;

/// The weights of the table in a profile.
pub(super) fn weights(profile: Profile) -> Vec<u32> {
    ARITHMETIC.iter().map(|row| row.weight.in_profile(profile)).collect()
}

/// False of what glslang folds by itself, and wrongly: `abs` and `sign` of constants of 8, 16 and 64 bits. No driver would see them.
pub(crate) fn is_left_to_drivers(scalar: Scalar, operand: &Expr) -> bool {
    let is_read = |part: &Expr| {
        matches!(
            part,
            Expr::Var(_)
                | Expr::Builtin(_)
                | Expr::Input(_)
                | Expr::InputOf(..)
                | Expr::Flat(_)
                | Expr::Uniform(_)
                | Expr::Push(_)
                | Expr::Load(_)
                | Expr::Resource(_)
                | Expr::Subgroup(_)
        )
    };
    scalar.is_word() || operand.any(&mut |part| is_read(part))
}

impl Builder<'_> {
    /// An expression of any type.
    pub(crate) fn expr(&mut self, ty: Type, want: Want) -> Expr {
        match ty {
            _ if !ty.is_single() => self.aggregate(ty, want),
            Type { width: 2.., .. } => self.vector(ty, want),
            Type { scalar: Scalar::Bool, .. } => self.boolean(want),
            Type { scalar, .. } => self.arithmetic(scalar, want),
        }
    }

    /// A readable variable, one that was written lately rather than another.
    pub(crate) fn variable(&mut self, ty: Type, class: Class) -> Option<VarId> {
        let fits = |var: &super::frame::Var| var.ty == ty && var.class <= class && var.role != Role::Hidden;
        let count = self.frame.vars.iter().filter(|var| fits(var)).count() as u32;
        if count == 0 {
            return None;
        }
        let (a, b) = (self.draw.below(count), self.draw.below(count));
        let nth = |n: u32| {
            let mut fitting = self.frame.vars.iter().enumerate().filter(|(_, var)| fits(var));
            fitting.nth(n as usize).expect("counted before")
        };
        let newest = [nth(a), nth(b)].into_iter().max_by_key(|(_, var)| var.written)?;
        Some(newest.0 as VarId)
    }

    /// A variable to write to whose class admits the value, other than those taken.
    pub(crate) fn writable(&mut self, ty: Type, class: Class, taken: &[VarId]) -> Option<VarId> {
        let fits = |(id, var): &(usize, &super::frame::Var)| {
            var.ty == ty && var.class == class && var.role == Role::Data && !taken.contains(&(*id as VarId))
        };
        let count = self.frame.vars.iter().enumerate().filter(fits).count() as u32;
        if count == 0 {
            return None;
        }
        let n = self.draw.below(count) as usize;
        self.frame.vars.iter().enumerate().filter(fits).nth(n).map(|(id, _)| id as VarId)
    }

    pub(crate) fn boolean(&mut self, want: Want) -> Expr {
        if want.depth == 0 || self.draw.is_exhausted() {
            return self.bool_leaf(want);
        }
        match self.draw.below(16) {
            0..=2 => self.bool_leaf(want),
            3..=9 => self.comparison(want),
            10 => Expr::unary(UnaryOp::Not, self.boolean(want.deeper())),
            11 | 12 => {
                let op = if self.may_choose(want) { self.junction() } else { BinaryOp::Xor };
                let left = if op == BinaryOp::Xor { want.deeper() } else { want.steering() };
                let lhs = self.boolean(left);
                let rhs =
                    if op == BinaryOp::Xor { self.boolean(want.deeper()) } else { self.guarded(want, Self::boolean) };
                bin(op, lhs, rhs)
            }
            13 if self.draw.percent(35) => self.any_or_all(Want::of(want.class, 0)),
            13 => cast(Scalar::Bool, self.arithmetic(Scalar::Uint, want.deeper())),
            _ => match self.operation_in(Type::BOOL, want) {
                Some(expr) => expr,
                None => self.bool_leaf(want),
            },
        }
    }

    /// True if `?:` and its like may stand in the expression, wherever that is put.
    fn may_choose(&self, want: Want) -> bool {
        match want.operations {
            Operations::Allowed => self.frame.flow.tolerates_choices(),
            Operations::None => self.is_maximal(),
        }
    }

    /// `^^`, or `&&` and `||` where they may stand.
    pub(crate) fn junction(&mut self) -> BinaryOp {
        let op = self.draw.pick(&[BinaryOp::Xor, BinaryOp::And, BinaryOp::Or]);
        if self.frame.flow.tolerates_choices() { op } else { BinaryOp::Xor }
    }

    /// An expression that only a part of the lanes evaluates: operations in it see that part.
    pub(crate) fn guarded(&mut self, want: Want, make: impl Fn(&mut Self, Want) -> Expr) -> Expr {
        let before = self.frame.flow;
        self.frame.flow = before.arm(crate::class::Decision::Divergent);
        let expr = make(self, want.deeper());
        self.frame.flow = before;
        expr
    }

    fn bool_leaf(&mut self, want: Want) -> Expr {
        match self.draw.below(8) {
            0..=3 => match self.variable(Type::BOOL, want.class) {
                Some(var) => Expr::Var(var),
                None => self.comparison(Want { depth: 0, ..want }),
            },
            _ => self.comparison(Want { depth: 0, ..want }),
        }
    }

    pub(crate) fn operation_in(&mut self, ty: Type, want: Want) -> Option<Expr> {
        match want.operations {
            Operations::Allowed => self.operation_of(ty, want.class),
            Operations::None => None,
        }
    }

    fn comparison(&mut self, want: Want) -> Expr {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let op = self.draw.pick(&[Ne, Eq, Lt, Ge, Gt, Le]);
        let scalar = match self.draw.below(8) {
            0 | 1 => Scalar::Int,
            2..=4 => self.extended_scalar().unwrap_or(Scalar::Uint),
            _ => Scalar::Uint,
        };
        if scalar.is_float() {
            return self.float_comparison(op, scalar, want);
        }
        let lhs = self.varying(scalar, want.deeper());
        // Equality of two words is almost never true; of a few bits it is.
        if matches!(op, Eq | Ne) || self.draw.percent(50) {
            let mask = self.draw.pick(&[1, 3, 7]);
            // Nothing is below 0 or above the mask.
            let value = match op {
                Lt | Ge => self.draw.range(1, mask),
                Le | Gt => self.draw.below(mask),
                _ => self.draw.below(mask + 1),
            };
            return bin(op, bin(BinaryOp::BitAnd, lhs, number(scalar, mask)), number(scalar, value));
        }
        let rhs = self.other_than(&lhs, scalar, want.deeper());
        bin(op, lhs, rhs)
    }

    /// A number that is not the same everywhere.
    pub(crate) fn varying(&mut self, scalar: Scalar, want: Want) -> Expr {
        let expr = self.arithmetic(scalar, want);
        let constant = |expr: &Expr| {
            matches!(
                expr,
                Expr::Int(_) | Expr::Uint(_) | Expr::Float(..) | Expr::Uniform(_) | Expr::Push(_) | Expr::Constant(_)
            )
        };
        let is_constant = match &expr {
            Expr::Cast(_, inner) => constant(inner),
            expr => constant(expr),
        };
        if !is_constant {
            return expr;
        }
        let word = self.input();
        as_number(scalar, word)
    }

    /// A number for the other side of an operator: `x - x` says nothing.
    pub(crate) fn other_than(&mut self, lhs: &Expr, scalar: Scalar, want: Want) -> Expr {
        let rhs = self.arithmetic(scalar, want);
        if rhs != *lhs {
            return rhs;
        }
        number(scalar, self.draw.range(1, 9))
    }

    /// A value of an integer or float type, by a row of [`ARITHMETIC`].
    pub(crate) fn arithmetic(&mut self, scalar: Scalar, want: Want) -> Expr {
        if scalar.is_float() {
            return self.floating(scalar, want);
        }
        if want.depth == 0 || self.draw.is_exhausted() {
            return self.leaf(scalar, want);
        }
        let resources = if self.has_resources() { self.weights.resources } else { 0 };
        if resources > 0 && self.draw.percent(resources) {
            let word = self.resource(want);
            return if scalar == Scalar::Uint { word } else { cast(scalar, word) };
        }
        let row = &ARITHMETIC[self.draw.index(self.weights.rows.arithmetic.iter().copied())];
        (row.integer)(self, scalar, want)
    }

    /// An integer that is converted from a bool, a float or another integer.
    fn integer_conversion(&mut self, scalar: Scalar, want: Want) -> Expr {
        if self.draw.below(3) == 0 {
            return cast(scalar, self.boolean(want.deeper()));
        }
        let other = match self.extended_scalar() {
            // Any other integer is but a conversion away.
            Some(other) if other.is_float() && self.draw.percent(50) => {
                let whole = cast(Scalar::Int, self.floating(other, want.defined()));
                return if scalar == Scalar::Int { whole } else { cast(scalar, whole) };
            }
            Some(other) if !other.is_float() && self.draw.percent(50) => other,
            _ if scalar == Scalar::Int => Scalar::Uint,
            _ => Scalar::Int,
        };
        cast(scalar, self.arithmetic(other, want.deeper()))
    }

    pub(crate) fn select(&mut self, scalar: Scalar, want: Want) -> Expr {
        if !self.may_choose(want) {
            return self.leaf(scalar, want);
        }
        let cond = self.boolean(want.steering());
        let then = self.guarded(want, |b, want| b.arithmetic(scalar, want));
        let otherwise = self.guarded(want, |b, want| b.other_than(&then, scalar, want));
        Expr::Select(Box::new(cond), Box::new(then), Box::new(otherwise))
    }

    pub(crate) fn binary(&mut self, ops: &[BinaryOp], scalar: Scalar, want: Want) -> Expr {
        let op = self.draw.pick(ops);
        let lhs = self.varying(scalar, want.deeper());
        let rhs = self.other_than(&lhs, scalar, want.deeper());
        bin(op, lhs, rhs)
    }

    /// A uint below the width of the type.
    fn shift_amount(&mut self, scalar: Scalar, want: Want) -> Expr {
        let most = scalar.size() - 1;
        if self.draw.percent(40) {
            return bin(BinaryOp::BitAnd, self.varying(Scalar::Uint, want.defined()), uint(most));
        }
        match self.draw.pick(&[1, 2, 4, 3, 7, 16, 31]) {
            31 => uint(most),
            16 => uint(scalar.size() / 2),
            amount => uint(amount),
        }
    }

    fn quotient(&mut self, scalar: Scalar, want: Want) -> Expr {
        let op = self.draw.pick(&[BinaryOp::Div, BinaryOp::Mod]);
        let lhs = self.varying(scalar, want.deeper());
        if !scalar.is_signed() {
            let rhs = match self.draw.below(2) {
                0 => number(scalar, self.draw.pick(&[3, 2, 5, 7, 10])),
                _ => bin(BinaryOp::BitOr, self.varying(scalar, want.defined()), number(scalar, 1)),
            };
            return bin(op, lhs, rhs);
        }
        // Signed: the divisor is 1 to 8, and nothing negative meets `%` (rule N3).
        let divisor = bin(BinaryOp::BitAnd, self.varying(scalar, want.defined()), number(scalar, 7));
        let divisor = bin(BinaryOp::Add, divisor, number(scalar, 1));
        if op == BinaryOp::Mod && self.config.signed_remainders && self.draw.percent(60) {
            return Expr::Intrinsic(self.signed_remainder(), vec![lhs, divisor]);
        }
        let positive = 0xFFFF.min(scalar.bits() >> 1) as u32;
        let lhs = if op == BinaryOp::Mod { bin(BinaryOp::BitAnd, lhs, number(scalar, positive)) } else { lhs };
        bin(op, lhs, divisor)
    }

    /// With the sign of the one operand or of the other.
    pub(crate) fn signed_remainder(&mut self) -> Intrinsic {
        self.draw.pick(&[Intrinsic::SignedRem, Intrinsic::SignedMod])
    }

    fn intrinsic(&mut self, scalar: Scalar, want: Want) -> Expr {
        if self.draw.percent(2 * self.weights.hints) {
            let value = self.varying(scalar, want.deeper());
            return self.expecting(value, scalar);
        }
        let gives_int = [Intrinsic::BitCount, Intrinsic::FindLsb, Intrinsic::FindMsb];
        let both = [
            Intrinsic::Min,
            Intrinsic::Max,
            Intrinsic::Clamp,
            Intrinsic::BitfieldExtract,
            Intrinsic::BitfieldInsert,
            Intrinsic::BitfieldReverse,
        ];
        let signed = [Intrinsic::Abs, Intrinsic::Sign];
        let op = match (scalar, self.draw.below(10)) {
            (scalar, 0..=5) if !scalar.is_word() => self.draw.pick(&[Intrinsic::Min, Intrinsic::Max, Intrinsic::Clamp]),
            (_, 0..=5) => self.draw.pick(&both),
            (scalar, 6 | 7) if scalar.is_signed() => self.draw.pick(&signed),
            _ => self.draw.pick(&gives_int),
        };
        if op.info().gives == Gives::Int {
            let of = if self.draw.percent(50) { Scalar::Int } else { Scalar::Uint };
            let result = Expr::Intrinsic(op, vec![self.varying(of, want.deeper())]);
            return if scalar == Scalar::Int { result } else { cast(scalar, result) };
        }
        let args = self.intrinsic_args(op, scalar, want);
        if signed.contains(&op) && !is_left_to_drivers(scalar, &args[0]) {
            return self.leaf(scalar, want);
        }
        Expr::Intrinsic(op, args)
    }

    fn intrinsic_args(&mut self, op: Intrinsic, scalar: Scalar, want: Want) -> Vec<Expr> {
        let first = self.varying(scalar, want.deeper());
        match op {
            // `x >> 1` is never the least int.
            Intrinsic::Abs => vec![bin(BinaryOp::Shr, first, uint(1))],
            Intrinsic::Min | Intrinsic::Max => {
                let second = self.other_than(&first, scalar, want.deeper());
                vec![first, second]
            }
            Intrinsic::Clamp => {
                let low = self.draw.below(8);
                let high = low + self.draw.below(24);
                vec![first, number(scalar, low), number(scalar, high)]
            }
            Intrinsic::BitfieldExtract => {
                let (offset, bits) = self.field(want);
                vec![first, offset, bits]
            }
            Intrinsic::BitfieldInsert => {
                let insert = self.arithmetic(scalar, want.deeper());
                let (offset, bits) = self.field(want);
                vec![first, insert, offset, bits]
            }
            _ => vec![first],
        }
    }

    /// Offset and width of a bit field within 32 bits.
    pub(crate) fn field(&mut self, want: Want) -> (Expr, Expr) {
        let part = |b: &mut Self| match b.draw.below(3) {
            0 => Expr::Int(b.draw.below(17) as i32),
            _ => bin(BinaryOp::BitAnd, b.varying(Scalar::Int, Want { depth: 0, ..want.defined() }), Expr::Int(15)),
        };
        (part(self), part(self))
    }

    pub(crate) fn component(&mut self, scalar: Scalar, want: Want) -> Expr {
        if self.draw.percent(self.weights.aggregates)
            && let Some(element) = self.element_of(Type::scalar(scalar), want.class)
        {
            return element;
        }
        let width = if scalar == Scalar::Uint { 4 } else { 2 + self.draw.below(3) as u8 };
        let ty = Type::vector(scalar, width);
        let Some(var) = self.variable(ty, want.class) else { return self.leaf(scalar, want) };
        // Ballots of small subgroups live in the first component.
        let component = if self.draw.percent(30) { self.draw.below(ty.width.into()) as u8 } else { 0 };
        Expr::Component(Box::new(Expr::Var(var)), component)
    }

    /// A value of a type that GLSL lacks, made of words.
    fn extended_leaf(&mut self, scalar: Scalar, want: Want) -> Expr {
        use BinaryOp::{BitOr, Shl};
        match self.draw.below(12) {
            0..=4 => match self.variable(Type::scalar(scalar), want.class) {
                Some(var) => Expr::Var(var),
                None => cast(scalar, self.leaf(Scalar::Uint, want)),
            },
            5 | 6 => cast(scalar, self.leaf(Scalar::Uint, want)),
            // Some of them negative.
            7 => cast(scalar, self.leaf(Scalar::Int, want)),
            8 => number(scalar, self.draw.below(8)),
            9 | 10 if scalar.size() == 64 => {
                let high = cast(scalar, self.leaf(Scalar::Uint, want));
                let low = cast(scalar, self.leaf(Scalar::Uint, want));
                bin(BitOr, bin(Shl, high, uint(32)), low)
            }
            9 | 10 => cast(scalar, self.input()),
            _ => match scalar.size() {
                // Near the middle and the end of the range.
                64 => bin(Shl, number(scalar, self.draw.pick(&BOUNDARIES)), uint(32)),
                size => {
                    let middle = 1 << (size - 1);
                    number(scalar, self.draw.pick(&[middle, middle - 1, 2 * middle - 1, middle + 1]))
                }
            },
        }
    }

    pub(crate) fn leaf(&mut self, scalar: Scalar, want: Want) -> Expr {
        if scalar.is_float() {
            return self.float_leaf(scalar, want);
        }
        if scalar.is_extended() {
            return self.extended_leaf(scalar, want);
        }
        if scalar == Scalar::Int {
            return match self.draw.below(10) {
                0..=4 => match self.variable(Type::INT, want.class) {
                    Some(var) => Expr::Var(var),
                    None => cast(Scalar::Int, self.leaf(Scalar::Uint, want)),
                },
                5 | 6 => cast(Scalar::Int, self.leaf(Scalar::Uint, want)),
                // Some of them negative.
                7 => bin(
                    BinaryOp::Sub,
                    cast(Scalar::Int, self.leaf(Scalar::Uint, want)),
                    Expr::Int(self.draw.range(1, 7) as i32),
                ),
                8 => Expr::Int(self.draw.below(8) as i32),
                _ => Expr::Int(self.draw.below(17) as i32 - 8),
            };
        }
        if let Some(flat) = self.flat(12) {
            return flat;
        }
        match self.draw.below(32) {
            0..=13 => match self.variable(Type::UINT, want.class) {
                Some(var) => Expr::Var(var),
                None => self.input(),
            },
            14..=18 => self.input(),
            19..=21 => lane(),
            22 | 23 => Expr::Builtin(Builtin::LocalIndex),
            24 | 25 => self.constant_word(),
            26 | 27 => uint(self.draw.below(9)),
            28 => uint(self.draw.pick(&BOUNDARIES)),
            29 => self.constant_word(),
            _ => {
                let drawn = self.draw.pick(&[
                    Builtin::SubgroupSize,
                    Builtin::LocalX,
                    Builtin::LocalY,
                    Builtin::LocalZ,
                    Builtin::WorkgroupIndex,
                    Builtin::SubgroupId,
                    Builtin::NumSubgroups,
                ]);
                Expr::Builtin(match drawn {
                    // Only workgroups have them.
                    Builtin::SubgroupId | Builtin::NumSubgroups if !self.has_workgroups() => Builtin::LocalX,
                    other => other,
                })
            }
        }
    }

    /// A flat input, in so many of a hundred cases if there is one.
    pub(crate) fn flat(&mut self, percent: u32) -> Option<Expr> {
        let count = self.data.flats.len() as u32;
        (count > 0 && self.draw.percent(percent)).then(|| Expr::Flat(self.draw.below(count)))
    }

    pub(crate) fn input(&mut self) -> Expr {
        let count = self.data.inputs.len() as u32;
        Expr::Input(self.draw.below(count))
    }

    /// A word that is the same everywhere and unknown to the front end; to the driver, too, unless it is a specialisation constant.
    pub(crate) fn constant_word(&mut self) -> Expr {
        let (uniforms, push) = (self.data.uniforms.len() as u32, self.data.push.len() as u32);
        match self.data.constants.len() as u32 {
            constants if constants > 0 && self.may_specialise() && self.draw.percent(50) => {
                Expr::Constant(self.draw.below(constants))
            }
            _ if push == 0 || self.draw.percent(50) => Expr::Uniform(self.draw.below(uniforms)),
            _ => Expr::Push(self.draw.below(push)),
        }
    }

    /// Before SPIR-V 1.4 nothing may convert a specialisation constant to another size, and the front end does so all the same.
    fn may_specialise(&self) -> bool {
        let is_other = |scalar: &Scalar| scalar.is_integer() && !scalar.is_word();
        let converts = Scalar::ALL.iter().any(|scalar| is_other(scalar) && self.weights.scalars[*scalar as usize] > 0);
        self.entry_point.spirv >= SpirvVersion::V1_4 || !converts
    }

    pub(crate) fn vector(&mut self, ty: Type, want: Want) -> Expr {
        if let (true, Some(var)) = (self.draw.percent(45), self.variable(ty, want.class)) {
            return Expr::Var(var);
        }
        match self.draw.below(8) {
            0 | 1 if ty == Type::MASK && self.has(SubgroupOp::Ballot) => Expr::Builtin(self.draw.pick(&[
                Builtin::LtMask,
                Builtin::LeMask,
                Builtin::EqMask,
                Builtin::GeMask,
                Builtin::GtMask,
            ])),
            2 | 3 if want.depth > 0 => match self.operation_in(ty, want) {
                Some(expr) => self.fitted(expr, ty, want.class),
                None => self.components(ty, want),
            },
            6 if want.depth > 0 && ty.scalar == Scalar::Bool => self.compared(ty.width, want.deeper()),
            6 if want.depth > 0 => {
                let chosen = self.chosen(ty, want);
                self.fitted(chosen, ty, want.class)
            }
            4 | 5 if want.depth > 0 && ty.scalar != Scalar::Bool => self.operated(ty, want),
            _ => self.components(ty, want),
        }
    }

    /// `uvec2(x, y)`
    fn components(&mut self, ty: Type, want: Want) -> Expr {
        let want = Want { depth: want.depth.min(1), ..want };
        let parts = (0..ty.width).map(|_| self.expr(Type::scalar(ty.scalar), want.deeper())).collect();
        Expr::Vector(ty, parts)
    }
}

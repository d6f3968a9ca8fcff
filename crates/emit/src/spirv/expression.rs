//! Expressions.

mod operation;

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{BuiltIn, Capability, Decoration, Op, StorageClass};
use tangle_program::control::SelectionControl;
use tangle_program::memory::ArrayId;
use tangle_program::ops::{BinaryOp, Intrinsic, UnaryOp};
use tangle_program::resource::ResourceClass;
use tangle_program::tree::Resource;
use tangle_program::tree::{Builtin, Expr, VarId};
use tangle_program::types::{Scalar, Type};
use tangle_program::variant::Freedom;

use super::blocks::{BlockId, Role};
use super::body::{Body, VarStorage};
use super::module::{Global, Id, block_storage};

/// A value and its type.
pub(super) type Value = (Id, Type);

impl Body<'_, '_> {
    /// Adds an instruction with a result.
    pub fn op(&mut self, op: Op, ty: Type, operands: Vec<Operand>) -> Id {
        let ty = self.module.ty(ty);
        self.op_of(op, ty, operands)
    }

    pub fn op_of(&mut self, op: Op, ty: Id, operands: Vec<Operand>) -> Id {
        let id = self.module.id();
        self.blocks.push(Instruction::new(op, Some(ty), Some(id), operands));
        id
    }

    /// The same with ids for operands.
    pub fn ids<const N: usize>(&mut self, op: Op, ty: Type, ids: [Id; N]) -> Id {
        self.op(op, ty, ids.map(Operand::IdRef).into())
    }

    /// Adds an instruction without a result.
    pub fn effect(&mut self, op: Op, ids: &[Id]) {
        let operands = ids.iter().map(|&id| Operand::IdRef(id)).collect();
        self.blocks.push(Instruction::new(op, None, None, operands));
    }

    pub fn load(&mut self, pointer: Id, ty: Type) -> Id {
        self.ids(Op::Load, ty, [pointer])
    }

    pub fn store(&mut self, pointer: Id, value: Id) {
        self.effect(Op::Store, &[pointer, value]);
    }

    /// A pointer to what the indices pick.
    pub fn access(&mut self, class: StorageClass, to: Type, base: Id, indices: &[Id]) -> Id {
        let pointer = self.module.pointer(class, to);
        let operands = [base].iter().chain(indices).map(|&id| Operand::IdRef(id)).collect();
        self.op_of(Op::AccessChain, pointer, operands)
    }

    pub fn read(&mut self, var: VarId, ty: Type) -> Id {
        match self.places.get(var as usize) {
            Some(&VarStorage::Memory(pointer)) => self.load(pointer, ty),
            _ => self.blocks.read(self.module, var, ty),
        }
    }

    pub fn write(&mut self, var: VarId, value: Id) {
        match self.places.get(var as usize) {
            Some(&VarStorage::Memory(pointer)) => self.store(pointer, value),
            _ => self.blocks.write(var, value),
        }
    }

    /// A variable in memory, of this function.
    pub fn variable(&mut self, ty: Type, initial: Option<Id>) -> Id {
        let pointer = self.module.pointer(StorageClass::Function, ty);
        let id = self.module.id();
        let class = Operand::StorageClass(StorageClass::Function);
        let operands = std::iter::once(class).chain(initial.map(Operand::IdRef)).collect();
        self.blocks.declare(Instruction::new(Op::Variable, Some(pointer), Some(id), operands));
        id
    }

    pub fn uint(&mut self, value: u32) -> Id {
        self.module.uint(value)
    }

    pub fn bool(&mut self, value: bool) -> Id {
        self.module.bits(Scalar::Bool, value.into())
    }

    pub fn not(&mut self, cond: Id) -> Id {
        self.ids(Op::LogicalNot, Type::BOOL, [cond])
    }

    /// True if lanes may evaluate it that need not: it looks at no other lane and at no memory that others write, is defined, and no
    /// operand of its instructions is undefined behaviour.
    pub fn is_eager(&self, expr: &Expr) -> bool {
        let may = match expr {
            Expr::Subgroup(_) | Expr::Load(_) | Expr::Resource(_) | Expr::InputOf(..) | Expr::Element(..) => false,
            Expr::Var(var) => !self.undefined.var(self.number as u32, *var),
            Expr::Binary(op, ..) => !tangle_program::ops::binary_may_be_undefined(*op),
            Expr::Cast(to, x) => !to.is_integer() || x.ty(self.function).is_some_and(|ty| !ty.scalar.is_float()),
            Expr::Intrinsic(op, _) => !matches!(
                op,
                Intrinsic::Clamp | Intrinsic::Abs | Intrinsic::BitfieldExtract | Intrinsic::BitfieldInsert
            ),
            Expr::Bool(_)
            | Expr::Int(_)
            | Expr::Uint(_)
            | Expr::Float(..)
            | Expr::Builtin(_)
            | Expr::Input(_)
            | Expr::Flat(_)
            | Expr::Uniform(_)
            | Expr::Push(_)
            | Expr::Constant(_)
            | Expr::Unary(..)
            | Expr::Select(..)
            | Expr::Vector(..)
            | Expr::Component(..) => true,
        };
        may && expr.operands().all(|operand| self.is_eager(operand))
    }

    /// True if it can be evaluated without a branch.
    pub fn is_straight(&self, expr: &Expr) -> bool {
        let branches = match expr {
            Expr::Binary(BinaryOp::And | BinaryOp::Or, _, y) => !self.is_eager(y),
            Expr::Select(_, x, y) => !self.is_eager(x) || !self.is_eager(y),
            _ => false,
        };
        !branches && expr.operands().all(|operand| self.is_straight(operand))
    }

    /// The value of an expression.
    pub fn eval(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Bool(value) => (self.bool(*value), Type::BOOL),
            Expr::Int(value) => (self.module.bits(Scalar::Int, u64::from(*value as u32)), Type::INT),
            Expr::Uint(value) => (self.module.bits(Scalar::Uint, u64::from(*value)), Type::UINT),
            Expr::Float(scalar, quarters) => {
                let bits = tangle_program::float::bits(*scalar, f64::from(*quarters) / 4.0);
                (self.module.bits(*scalar, bits), Type::scalar(*scalar))
            }
            Expr::Var(var) => {
                let ty = self.function.var_type(*var).unwrap_or(Type::UINT);
                (self.read(*var, ty), ty)
            }
            Expr::Builtin(builtin) => (self.builtin(*builtin), builtin.ty()),
            Expr::Input(k) => (self.input(*k), Type::UINT),
            // Of fragment shaders, which are not printed.
            Expr::Flat(_) => (self.module.uint(0), Type::UINT),
            Expr::Uniform(k) => {
                let uniforms = self.module.global(Global::Uniforms);
                let indices = [0, k / 4, k % 4].map(|index| self.module.uint(index));
                let pointer = self.access(StorageClass::Uniform, Type::UINT, uniforms, &indices);
                (self.load(pointer, Type::UINT), Type::UINT)
            }
            Expr::Push(k) => {
                let push = self.module.global(Global::Push);
                let indices = [0, *k].map(|index| self.module.uint(index));
                let pointer = self.access(StorageClass::PushConstant, Type::UINT, push, &indices);
                (self.load(pointer, Type::UINT), Type::UINT)
            }
            Expr::Constant(k) => (self.module.global(Global::Constant(*k)), Type::UINT),
            Expr::Unary(op, x) => {
                let (x, ty) = self.eval(x);
                let op = match op {
                    UnaryOp::Neg if ty.scalar.is_float() => Op::FNegate,
                    UnaryOp::Neg => Op::SNegate,
                    UnaryOp::BitNot => Op::Not,
                    UnaryOp::Not => Op::LogicalNot,
                };
                (self.arithmetic(op, ty, [x]), ty)
            }
            Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), x, y) => (self.short_circuit(*op, x, y), Type::BOOL),
            Expr::Binary(op, x, y) => {
                let (x, ty) = self.eval(x);
                let (y, _) = self.eval(y);
                self.binary(*op, ty, x, y)
            }
            Expr::Select(cond, x, y) => self.choice(cond, x, y),
            Expr::Cast(to, x) => {
                let (x, from) = self.eval(x);
                let ty = Type { scalar: *to, ..from };
                (self.cast(x, from, ty), ty)
            }
            Expr::Intrinsic(op, args) => self.intrinsic(*op, args),
            Expr::Vector(ty, args) => {
                let parts: Vec<Operand> = args.iter().map(|arg| Operand::IdRef(self.eval(arg).0)).collect();
                (self.op(Op::CompositeConstruct, *ty, parts), *ty)
            }
            Expr::Component(x, c) => {
                let (x, ty) = self.eval(x);
                let component = Type::scalar(ty.scalar);
                if self.module.draws.takes(Freedom::Forms) {
                    let index = self.module.uint((*c).into());
                    return (self.ids(Op::VectorExtractDynamic, component, [x, index]), component);
                }
                (self.extract(x, component, &[(*c).into()]), component)
            }
            Expr::Element(x, index) => self.element(x, index),
            Expr::Load(load) => {
                let (index, _) = self.eval(&load.index);
                let ty = Type::scalar(load.scalar);
                let pointer = self.array_element(load.array, index);
                (self.load(pointer, ty), ty)
            }
            Expr::Resource(resource) => (self.resource(resource), Type::UINT),
            Expr::InputOf(k, index) => {
                let (index, _) = self.eval(index);
                (self.input_of(*k, index), Type::UINT)
            }
            Expr::Subgroup(call) => self.subgroup(call),
        }
    }

    /// The word of a resource. What leads to it is decorated where its index is not uniform: the pointer that is read through, or the image.
    fn resource(&mut self, resource: &Resource) -> Id {
        let (index, _) = self.eval(&resource.index);
        let array = self.module.global(Global::Resources(resource.class));
        if let Some(storage) = block_storage(resource.class) {
            let member = self.module.uint(0);
            let pointer = self.access(storage, Type::UINT, array, &[index, member]);
            self.mark(resource, pointer);
            return self.load(pointer, Type::UINT);
        }
        let image = self.module.global(Global::Resource(resource.class));
        let pointer = self.module.pointer_to(StorageClass::UniformConstant, image);
        let pointer = self.op_of(Op::AccessChain, pointer, [array, index].map(Operand::IdRef).into());
        self.mark(resource, pointer);
        let image = self.op_of(Op::Load, image, vec![Operand::IdRef(pointer)]);
        self.mark(resource, image);
        let zero = self.module.uint(0);
        let at = match resource.class {
            ResourceClass::StorageImage => self.ids(Op::CompositeConstruct, Type::vector(Scalar::Uint, 2), [zero; 2]),
            _ => zero,
        };
        let texel = self.ids(Op::ImageRead, Type::MASK, [image, at]);
        self.extract(texel, Type::UINT, &[0])
    }

    fn mark(&mut self, resource: &Resource, id: Id) {
        if resource.non_uniform {
            self.module.declare_capability(Capability::ShaderNonUniform);
            self.module.decorate(id, Decoration::NonUniform, &[]);
        }
    }

    pub fn extract(&mut self, composite: Id, ty: Type, indices: &[u32]) -> Id {
        let indices = indices.iter().map(|&index| Operand::LiteralBit32(index));
        let operands = std::iter::once(Operand::IdRef(composite)).chain(indices).collect();
        self.op(Op::CompositeExtract, ty, operands)
    }

    /// An instruction that the qualifier `precise` is about.
    fn arithmetic<const N: usize>(&mut self, op: Op, ty: Type, operands: [Id; N]) -> Id {
        let id = self.ids(op, ty, operands);
        if self.precise && ty.scalar.is_float() {
            self.module.decorate(id, Decoration::NoContraction, &[]);
        }
        id
    }

    fn input_variable(&mut self, built_in: BuiltIn, ty: Type) -> Id {
        let variable = self.module.built_in(built_in, ty);
        self.load(variable, ty)
    }

    pub fn builtin(&mut self, builtin: Builtin) -> Id {
        const UVEC3: Type = Type::vector(Scalar::Uint, 3);
        let position = |body: &mut Self, axis| {
            let position = body.input_variable(BuiltIn::LocalInvocationId, UVEC3);
            body.extract(position, Type::UINT, &[axis])
        };
        let built_in = match builtin {
            Builtin::Lane => BuiltIn::SubgroupLocalInvocationId,
            Builtin::SubgroupSize => BuiltIn::SubgroupSize,
            Builtin::SubgroupId => BuiltIn::SubgroupId,
            Builtin::NumSubgroups => BuiltIn::NumSubgroups,
            Builtin::LocalIndex => BuiltIn::LocalInvocationIndex,
            Builtin::LocalX => return position(self, 0),
            Builtin::LocalY => return position(self, 1),
            Builtin::LocalZ => return position(self, 2),
            Builtin::WorkgroupIndex => return self.workgroup_index(),
            Builtin::EqMask => BuiltIn::SubgroupEqMask,
            Builtin::GeMask => BuiltIn::SubgroupGeMask,
            Builtin::GtMask => BuiltIn::SubgroupGtMask,
            Builtin::LeMask => BuiltIn::SubgroupLeMask,
            Builtin::LtMask => BuiltIn::SubgroupLtMask,
            // Printed modules are compute shaders.
            Builtin::Helper | Builtin::HelperInput => BuiltIn::HelperInvocation,
        };
        self.input_variable(built_in, builtin.ty())
    }

    fn workgroup_index(&mut self) -> Id {
        let [x, y, z] = self.module.case.entry_point.workgroups().count;
        let group = self.input_variable(BuiltIn::WorkgroupId, Type::vector(Scalar::Uint, 3));
        let mut index = self.extract(group, Type::UINT, &[0]);
        for (axis, count, stride) in [(1, y, x), (2, z, x.wrapping_mul(y))] {
            if count != 1 {
                let along = self.extract(group, Type::UINT, &[axis]);
                let stride = self.uint(stride);
                let along = self.ids(Op::IMul, Type::UINT, [along, stride]);
                index = self.ids(Op::IAdd, Type::UINT, [index, along]);
            }
        }
        index
    }

    fn input(&mut self, k: u32) -> Id {
        let invocation = self.module.global(Global::Invocation);
        let invocation = self.load(invocation, Type::UINT);
        self.input_of(k, invocation)
    }

    fn input_of(&mut self, k: u32, invocation: Id) -> Id {
        let inputs = self.module.global(Global::Inputs);
        let count = self.module.case.data.inputs.len() as u32;
        let count = self.uint(count);
        let row = self.ids(Op::IMul, Type::UINT, [invocation, count]);
        let k = self.uint(k);
        let index = self.ids(Op::IAdd, Type::UINT, [row, k]);
        let pointer = self.word_of(inputs, index);
        self.load(pointer, Type::UINT)
    }

    /// A pointer to a word of a buffer of words.
    pub fn word_of(&mut self, buffer: Id, index: Id) -> Id {
        let first = self.uint(0);
        self.access(StorageClass::StorageBuffer, Type::UINT, buffer, &[first, index])
    }

    /// A pointer to an element of an array, in the slice of the workgroup.
    pub fn array_element(&mut self, array: ArrayId, index: Id) -> Id {
        let case = self.module.case;
        let Some(shared) = case.program.shared.get(array as usize) else { return self.module.undefined(Type::UINT) };
        if shared.storage.is_workgroup() {
            let variable = self.module.global(Global::Shared(array));
            return self.access(StorageClass::Workgroup, shared.ty(), variable, &[index]);
        }
        let mut index = index;
        if case.entry_point.groups() != 1 {
            let group = self.workgroup_index();
            let len = self.uint(shared.len);
            let slice = self.ids(Op::IMul, Type::UINT, [group, len]);
            index = self.ids(Op::IAdd, Type::UINT, [slice, index]);
        }
        let before = &case.program.shared[..array as usize];
        let member = before.iter().filter(|array| !array.storage.is_workgroup()).count() as u32;
        let (arrays, member) = (self.module.global(Global::Arrays), self.uint(member));
        self.access(StorageClass::StorageBuffer, shared.ty(), arrays, &[member, index])
    }

    pub fn binary(&mut self, op: BinaryOp, ty: Type, x: Id, y: Id) -> Value {
        let (float, signed, bool) = (ty.scalar.is_float(), ty.scalar.is_signed(), ty.scalar == Scalar::Bool);
        let of = |of_float, of_signed, of_unsigned| match () {
            () if float => of_float,
            () if signed => of_signed,
            () => of_unsigned,
        };
        let opcode = match op {
            BinaryOp::Add => of(Op::FAdd, Op::IAdd, Op::IAdd),
            BinaryOp::Sub => of(Op::FSub, Op::ISub, Op::ISub),
            BinaryOp::Mul => of(Op::FMul, Op::IMul, Op::IMul),
            BinaryOp::Div => of(Op::FDiv, Op::SDiv, Op::UDiv),
            // The operands are not negative (rule N3), so that SRem gives the same.
            BinaryOp::Mod if signed && self.module.draws.takes(Freedom::Forms) => Op::SRem,
            BinaryOp::Mod => of(Op::FMod, Op::SMod, Op::UMod),
            BinaryOp::BitAnd => Op::BitwiseAnd,
            BinaryOp::BitOr => Op::BitwiseOr,
            BinaryOp::BitXor => Op::BitwiseXor,
            BinaryOp::Shl => Op::ShiftLeftLogical,
            BinaryOp::Shr => of(Op::Nop, Op::ShiftRightArithmetic, Op::ShiftRightLogical),
            BinaryOp::Lt => of(Op::FOrdLessThan, Op::SLessThan, Op::ULessThan),
            BinaryOp::Le => of(Op::FOrdLessThanEqual, Op::SLessThanEqual, Op::ULessThanEqual),
            BinaryOp::Gt => of(Op::FOrdGreaterThan, Op::SGreaterThan, Op::UGreaterThan),
            BinaryOp::Ge => of(Op::FOrdGreaterThanEqual, Op::SGreaterThanEqual, Op::UGreaterThanEqual),
            BinaryOp::Eq if bool => Op::LogicalEqual,
            BinaryOp::Eq => of(Op::FOrdEqual, Op::IEqual, Op::IEqual),
            BinaryOp::Ne if bool => Op::LogicalNotEqual,
            BinaryOp::Ne => of(Op::FUnordNotEqual, Op::INotEqual, Op::INotEqual),
            BinaryOp::Xor => Op::LogicalNotEqual,
            // With branches: `short_circuit`.
            BinaryOp::And => Op::LogicalAnd,
            BinaryOp::Or => Op::LogicalOr,
        };
        if !op.is_comparison() && !op.is_logical() {
            return (self.arithmetic(opcode, ty, [x, y]), ty);
        }
        let mirrored = match opcode {
            Op::SLessThan => Some(Op::SGreaterThan),
            Op::ULessThan => Some(Op::UGreaterThan),
            Op::FOrdLessThan => Some(Op::FOrdGreaterThan),
            Op::SLessThanEqual => Some(Op::SGreaterThanEqual),
            Op::ULessThanEqual => Some(Op::UGreaterThanEqual),
            Op::SGreaterThan => Some(Op::SLessThan),
            Op::UGreaterThan => Some(Op::ULessThan),
            Op::SGreaterThanEqual => Some(Op::SLessThanEqual),
            Op::UGreaterThanEqual => Some(Op::ULessThanEqual),
            _ => None,
        };
        let bools = Type { scalar: Scalar::Bool, ..ty };
        let id = match mirrored {
            Some(mirrored) if self.module.draws.takes(Freedom::Forms) => self.ids(mirrored, bools, [y, x]),
            _ => self.ids(opcode, bools, [x, y]),
        };
        (id, bools)
    }

    /// `x && y`, `x || y`
    fn short_circuit(&mut self, op: BinaryOp, x: &Expr, y: &Expr) -> Id {
        let (x, _) = self.eval(x);
        let eager = self.may_be_eager(&[y]);
        self.short_circuit_with(op, x, eager, |body| body.eval(y).0)
    }

    /// True if these operands are evaluated by lanes that need not.
    fn may_be_eager(&mut self, operands: &[&Expr]) -> bool {
        let may = operands.iter().all(|operand| self.is_eager(operand));
        may && (self.straight || self.module.draws.takes(Freedom::Select))
    }

    /// `x && y()`, `x || y()`
    pub fn short_circuit_with(&mut self, op: BinaryOp, x: Id, eager: bool, y: impl FnOnce(&mut Self) -> Id) -> Id {
        let is_and = op == BinaryOp::And;
        if eager {
            let y = y(self);
            let op = if is_and { Op::LogicalAnd } else { Op::LogicalOr };
            return self.ids(op, Type::BOOL, [x, y]);
        }
        let Some(header) = self.blocks.current else { return x };
        let right = self.blocks.new_block(self.module, Role::Other);
        let merge = self.blocks.new_block(self.module, Role::Other);
        let merges = self.selection_merge(merge, SelectionControl::Unspecified);
        let (on_true, on_false) = if is_and { (right, merge) } else { (merge, right) };
        self.part(Some(merges), x, on_true, on_false);
        self.enter(right);
        let y = y(self);
        let last = self.blocks.current.unwrap_or(right);
        self.jump(merge);
        self.enter(merge);
        let parents = [(x, header), (y, last)];
        self.phi(Type::BOOL, &parents)
    }

    fn phi(&mut self, ty: Type, incoming: &[(Id, BlockId)]) -> Id {
        let operands = incoming.iter().flat_map(|&(value, block)| [value, self.blocks.label(block)]);
        let operands = operands.map(Operand::IdRef).collect();
        self.op(Op::Phi, ty, operands)
    }

    /// `cond ? x : y`
    fn choice(&mut self, cond: &Expr, x: &Expr, y: &Expr) -> Value {
        let (cond, _) = self.eval(cond);
        if self.may_be_eager(&[x, y]) {
            let (x, ty) = self.eval(x);
            let (y, _) = self.eval(y);
            return (self.select(cond, ty, x, y), ty);
        }
        let then = self.blocks.new_block(self.module, Role::Other);
        let otherwise = self.blocks.new_block(self.module, Role::Other);
        let merge = self.blocks.new_block(self.module, Role::Other);
        let merges = self.selection_merge(merge, SelectionControl::Unspecified);
        self.part(Some(merges), cond, then, otherwise);
        self.enter(then);
        let (x, ty) = self.eval(x);
        let behind_x = self.blocks.current.unwrap_or(then);
        self.jump(merge);
        self.enter(otherwise);
        let (y, _) = self.eval(y);
        let behind_y = self.blocks.current.unwrap_or(otherwise);
        self.jump(merge);
        self.enter(merge);
        (self.phi(ty, &[(x, behind_x), (y, behind_y)]), ty)
    }

    /// OpSelect. Before SPIR-V 1.4 the condition has as many components as the values.
    pub fn select(&mut self, cond: Id, ty: Type, x: Id, y: Id) -> Id {
        let mut cond = cond;
        if !ty.is_scalar() {
            let bools = Type { scalar: Scalar::Bool, ..ty };
            cond = self.op(Op::CompositeConstruct, bools, vec![Operand::IdRef(cond); ty.width.into()]);
        }
        self.ids(Op::Select, ty, [cond, x, y])
    }

    /// A vector of the same scalar.
    fn splat(&mut self, scalar: Id, ty: Type) -> Id {
        if ty.is_scalar() {
            return scalar;
        }
        self.op(Op::CompositeConstruct, ty, vec![Operand::IdRef(scalar); ty.width.into()])
    }

    /// The number 1 of a type.
    fn one(scalar: Scalar) -> u64 {
        if scalar.is_float() { tangle_program::float::one(scalar) } else { 1 }
    }

    pub fn cast(&mut self, x: Id, from: Type, to: Type) -> Id {
        let (a, b) = (from.scalar, to.scalar);
        if a == b {
            return x;
        }
        if a == Scalar::Bool {
            let (zero, one) = (self.module.bits(b, 0), self.module.bits(b, Self::one(b)));
            let (zero, one) = (self.splat(zero, to), self.splat(one, to));
            // The condition has the width of the values already.
            return self.ids(Op::Select, to, [x, one, zero]);
        }
        if b == Scalar::Bool {
            let zero = self.module.bits(a, 0);
            let zero = self.splat(zero, from);
            return self.ids(if a.is_float() { Op::FUnordNotEqual } else { Op::INotEqual }, to, [x, zero]);
        }
        let op = match (a.is_float(), b.is_float()) {
            (true, true) => Op::FConvert,
            (true, false) if b.is_signed() => Op::ConvertFToS,
            (true, false) => Op::ConvertFToU,
            (false, true) if a.is_signed() => Op::ConvertSToF,
            (false, true) => Op::ConvertUToF,
            (false, false) if a.size() == b.size() => Op::Bitcast,
            (false, false) => {
                // The sign of the operand decides how it is widened; the result then has the same bits in either type.
                let (op, wide) = if a.is_signed() { (Op::SConvert, b.signed()) } else { (Op::UConvert, b.unsigned()) };
                let x = self.ids(op, Type { scalar: wide, ..to }, [x]);
                return if wide == b { x } else { self.ids(Op::Bitcast, to, [x]) };
            }
        };
        self.ids(op, to, [x])
    }

    /// `x[index]`, of an element of a variable in memory, too, by one access chain, or by one that loads the whole element first.
    fn element(&mut self, x: &Expr, index: &Expr) -> Value {
        let (variable, mut indices) = root(x);
        let in_chain = !indices.is_empty() && !self.module.draws.takes(Freedom::Forms);
        if let (true, Expr::Var(var)) = (in_chain, variable)
            && let Some(&VarStorage::Memory(pointer)) = self.places.get(*var as usize)
        {
            indices.push(index);
            let ty = self.function.var_type(*var).and_then(|ty| part_at(ty, &indices)).unwrap_or(Type::UINT);
            let pointer = self.element_pointer(pointer, ty, &indices);
            return (self.load(pointer, ty), ty);
        }
        let in_memory = match x {
            Expr::Var(var) => match self.places.get(*var as usize) {
                Some(&VarStorage::Memory(pointer)) => self.function.var_type(*var).map(|ty| (pointer, ty)),
                _ => None,
            },
            _ => None,
        };
        let (value, ty) = match in_memory {
            Some((_, ty)) => (None, ty),
            None => {
                let (value, ty) = self.eval(x);
                (Some(value), ty)
            }
        };
        let Some(element) = ty.part(index.literal()) else { return (self.module.undefined(ty), ty) };
        let pointer = match (value, index) {
            (Some(value), Expr::Uint(k)) => return (self.extract(value, element, &[*k]), element),
            (Some(value), _) if ty.is_single() => {
                let (index, _) = self.eval(index);
                return (self.ids(Op::VectorExtractDynamic, element, [value, index]), element);
            }
            (Some(value), _) => {
                // Only memory has dynamic indices.
                let pointer = self.variable(ty, None);
                self.store(pointer, value);
                pointer
            }
            (None, _) => in_memory.map_or(0, |(pointer, _)| pointer),
        };
        let pointer = self.element_pointer(pointer, element, &[index]);
        (self.load(pointer, element), element)
    }

    /// A pointer to an element of a variable of the function.
    pub fn element_pointer(&mut self, variable: Id, element: Type, indices: &[&Expr]) -> Id {
        let mut index = |index: &Expr| match index {
            // The member of a struct has to be an OpConstant.
            Expr::Uint(k) => self.uint(*k),
            _ => self.eval(index).0,
        };
        let indices: Vec<Id> = indices.iter().map(|one| index(one)).collect();
        self.access(StorageClass::Function, element, variable, &indices)
    }

    /// The words that are logged of a scalar, the low one first: the bits of floats, a negative zero being a zero; integers widened.
    pub fn words(&mut self, x: Id, scalar: Scalar) -> Vec<Id> {
        let ty = Type::scalar(scalar);
        let uint = Type::UINT;
        match scalar {
            Scalar::Float16 => {
                let x = self.cast(x, ty, Type::scalar(Scalar::Float));
                self.words(x, Scalar::Float)
            }
            Scalar::Float => {
                let bits = self.ids(Op::Bitcast, uint, [x]);
                vec![self.positive_zero(bits, None)]
            }
            Scalar::Double => {
                let both = Type::vector(Scalar::Uint, 2);
                let bits = self.ids(Op::Bitcast, both, [x]);
                let (low, high) = (self.extract(bits, uint, &[0]), self.extract(bits, uint, &[1]));
                vec![low, self.positive_zero(high, Some(low))]
            }
            Scalar::Int64 | Scalar::Uint64 => {
                let low = self.cast(x, ty, uint);
                let by = self.uint(32);
                let shift = if scalar.is_signed() { Op::ShiftRightArithmetic } else { Op::ShiftRightLogical };
                let high = self.ids(shift, ty, [x, by]);
                vec![low, self.cast(high, ty, uint)]
            }
            _ => vec![self.cast(x, ty, uint)],
        }
    }

    /// The word with the sign of a float, which has `low` below it; 0 for a zero.
    fn positive_zero(&mut self, word: Id, low: Option<Id>) -> Id {
        let one = self.uint(1);
        let mut rest = self.ids(Op::ShiftLeftLogical, Type::UINT, [word, one]);
        if let Some(low) = low {
            rest = self.ids(Op::BitwiseOr, Type::UINT, [rest, low]);
        }
        let zero = self.uint(0);
        let is_zero = self.ids(Op::IEqual, Type::BOOL, [rest, zero]);
        self.ids(Op::Select, Type::UINT, [is_zero, zero, word])
    }

    /// Each scalar of a value, in the order in which they are logged.
    pub fn scalars(&mut self, value: Id, ty: Type) -> Vec<Id> {
        if ty.is_scalar() {
            return vec![value];
        }
        let mut scalars = Vec::with_capacity(ty.components());
        for path in paths(ty) {
            let scalar = path.iter().try_fold(ty, |ty, index| ty.part(Some(*index))).unwrap_or(ty);
            scalars.push(self.extract(value, scalar, &path));
        }
        scalars
    }
}

/// The indices that lead to each scalar of a value of the type, in order.
fn paths(ty: Type) -> Vec<Vec<u32>> {
    if ty.is_scalar() {
        return vec![Vec::new()];
    }
    let within = |(k, part): (u32, Type)| paths(part).into_iter().map(move |rest| [vec![k], rest].concat());
    (0..).zip(ty.parts()).flat_map(within).collect()
}

/// What an element is an element of in the end, and the indices that lead to it from there.
pub(super) fn root(x: &Expr) -> (&Expr, Vec<&Expr>) {
    match x {
        Expr::Element(of, index) => {
            let (root, mut indices) = root(of);
            indices.push(index);
            (root, indices)
        }
        _ => (x, Vec::new()),
    }
}

/// The type of what indices lead to.
pub(super) fn part_at(ty: Type, indices: &[&Expr]) -> Option<Type> {
    indices.iter().try_fold(ty, |ty, index| ty.part(index.literal()))
}

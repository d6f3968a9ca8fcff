//! Built-in functions and subgroup operations.

use std::sync::OnceLock;

use rspirv::dr::Operand;
use rspirv::grammar::INSTRUCTION_TABLE;
use rspirv::spirv::{Decoration, GroupOperation, Op, PackedVectorFormat, Scope};
use rustc_hash::FxHashMap;
use tangle_program::float;
use tangle_program::ops::Intrinsic;
use tangle_program::rounded_intrinsics;
use tangle_program::rounding::Operation;
use tangle_program::subgroup::{Fold, OpInfo, Param};
use tangle_program::tree::{Expr, SubgroupCall};
use tangle_program::types::{Scalar, Shape, Type};

use super::Value;
use crate::spirv::body::Body;
use crate::spirv::module::Id;

/// The instruction of a subgroup operation, for a generic operand of this type.
fn instruction(info: &OpInfo, scalar: Scalar) -> Op {
    static BY_NAME: OnceLock<FxHashMap<&'static str, Op>> = OnceLock::new();
    let (float, signed, bool) = (scalar.is_float(), scalar.is_signed(), scalar == Scalar::Bool);
    match info.op.fold() {
        Some(Fold::Add) if float => Op::GroupNonUniformFAdd,
        Some(Fold::Add) => Op::GroupNonUniformIAdd,
        Some(Fold::Mul) if float => Op::GroupNonUniformFMul,
        Some(Fold::Mul) => Op::GroupNonUniformIMul,
        Some(Fold::Min) if float => Op::GroupNonUniformFMin,
        Some(Fold::Min) if signed => Op::GroupNonUniformSMin,
        Some(Fold::Min) => Op::GroupNonUniformUMin,
        Some(Fold::Max) if float => Op::GroupNonUniformFMax,
        Some(Fold::Max) if signed => Op::GroupNonUniformSMax,
        Some(Fold::Max) => Op::GroupNonUniformUMax,
        Some(Fold::And) if bool => Op::GroupNonUniformLogicalAnd,
        Some(Fold::And) => Op::GroupNonUniformBitwiseAnd,
        Some(Fold::Or) if bool => Op::GroupNonUniformLogicalOr,
        Some(Fold::Or) => Op::GroupNonUniformBitwiseOr,
        Some(Fold::Xor) if bool => Op::GroupNonUniformLogicalXor,
        Some(Fold::Xor) => Op::GroupNonUniformBitwiseXor,
        None => {
            let all = BY_NAME.get_or_init(|| INSTRUCTION_TABLE.iter().map(|row| (row.opname, row.opcode)).collect());
            match info.spirv.split(' ').next() {
                // The grammar has its newer name.
                Some("GroupNonUniformPartitionNV") => Op::GroupNonUniformPartitionEXT,
                Some(name) => all.get(name).copied().unwrap_or(Op::Nop),
                None => Op::Nop,
            }
        }
    }
}

impl Body<'_, '_> {
    pub(super) fn intrinsic(&mut self, op: Intrinsic, args: &[Expr]) -> Value {
        let values: Vec<Value> = args.iter().map(|arg| self.eval(arg)).collect();
        let ty = values.first().map_or(Type::UINT, |&(_, ty)| ty);
        let result = op.info().result(ty).unwrap_or(ty);
        let operands = values.iter().map(|&(id, _)| Operand::IdRef(id));
        let (float, signed) = (ty.scalar.is_float(), ty.scalar.is_signed());
        // GLSL.std.450: for floats, signed and unsigned integers.
        let of = |numbers: [u32; 3]| numbers[if float { 0 } else { 2 - usize::from(signed) }];
        let number = match op {
            Intrinsic::BitfieldExtract => {
                let op = if signed { Op::BitFieldSExtract } else { Op::BitFieldUExtract };
                return (self.op(op, result, operands.collect()), result);
            }
            Intrinsic::BitfieldInsert => return (self.op(Op::BitFieldInsert, result, operands.collect()), result),
            Intrinsic::BitfieldReverse => return (self.op(Op::BitReverse, result, operands.collect()), result),
            Intrinsic::BitCount => return (self.op(Op::BitCount, result, operands.collect()), result),
            Intrinsic::Expect => return (self.op(Op::ExpectKHR, result, operands.collect()), result),
            Intrinsic::SignedRem => return (self.op(Op::SRem, result, operands.collect()), result),
            Intrinsic::SignedMod => return (self.op(Op::SMod, result, operands.collect()), result),
            Intrinsic::Any => return (self.op(Op::Any, result, operands.collect()), result),
            Intrinsic::All => return (self.op(Op::All, result, operands.collect()), result),
            // The other way round: OpSelect gives its first object where the condition is true.
            Intrinsic::Mix => {
                let operands = [2, 1, 0].into_iter().filter_map(|k| values.get(k)).map(|&(id, _)| Operand::IdRef(id));
                return (self.op(Op::Select, result, operands.collect()), result);
            }
            Intrinsic::Pack16
            | Intrinsic::Pack32
            | Intrinsic::Pack64
            | Intrinsic::Unpack8
            | Intrinsic::Unpack16
            | Intrinsic::Unpack32 => return (self.op(Op::Bitcast, result, operands.collect()), result),
            Intrinsic::FromBits | Intrinsic::FromAllBits | Intrinsic::ToBits => {
                return (self.bits(op, values.first().map_or(0, |&(id, _)| id), ty, result), result);
            }
            rounded_intrinsics!() => {
                let ids: Vec<Id> = values.iter().map(|&(id, _)| id).collect();
                return (self.rounded(op, &ids, ty, result), result);
            }
            Intrinsic::MulHigh | Intrinsic::AddCarry | Intrinsic::SubBorrow => {
                let op = match op {
                    Intrinsic::AddCarry => Op::IAddCarry,
                    Intrinsic::SubBorrow => Op::ISubBorrow,
                    _ if signed => Op::SMulExtended,
                    _ => Op::UMulExtended,
                };
                let both = Type { shape: Shape::Struct(2), ..result };
                let both = self.op(op, both, operands.collect());
                return (self.extract(both, result, &[1]), result);
            }
            Intrinsic::Dot | Intrinsic::DotAccSat => {
                let op = match (op, signed) {
                    (Intrinsic::Dot, true) => Op::SDot,
                    (Intrinsic::Dot, false) => Op::UDot,
                    (_, true) => Op::SDotAccSat,
                    (_, false) => Op::UDotAccSat,
                };
                let format = Operand::PackedVectorFormat(PackedVectorFormat::PackedVectorFormat4x8Bit);
                return (self.op(op, result, operands.chain([format]).collect()), result);
            }
            Intrinsic::Trunc => 3,
            Intrinsic::Abs => of([4, 5, 5]),
            Intrinsic::Sign => of([6, 7, 7]),
            Intrinsic::Floor => 8,
            Intrinsic::Ceil => 9,
            Intrinsic::Min => of([37, 39, 38]),
            Intrinsic::Max => of([40, 42, 41]),
            Intrinsic::Clamp => of([43, 45, 44]),
            Intrinsic::FindLsb => 73,
            Intrinsic::FindMsb => of([75, 74, 75]),
        };
        let set = [Operand::IdRef(self.module.glsl()), Operand::LiteralExtInstInteger(number)];
        let operands = set.into_iter().chain(operands).collect();
        (self.op(Op::ExtInst, result, operands), result)
    }

    /// A constant with these bits in every component.
    fn bits_in_all(&mut self, ty: Type, bits: u64) -> Id {
        let scalar = self.module.bits(ty.scalar, bits);
        self.splat(scalar, ty)
    }

    /// The way from bits to floats, or back.
    fn bits(&mut self, op: Intrinsic, x: Id, of: Type, result: Type) -> Id {
        let bools = Type { scalar: Scalar::Bool, ..of };
        if op == Intrinsic::ToBits {
            let bits = self.op(Op::Bitcast, result, vec![Operand::IdRef(x)]);
            let is_nan = self.op(Op::IsNan, bools, vec![Operand::IdRef(x)]);
            let nan = self.bits_in_all(result, float::nan(of.scalar));
            return self.op(Op::Select, result, [is_nan, nan, bits].map(Operand::IdRef).to_vec());
        }
        let mut bits = x;
        if op == Intrinsic::FromBits {
            let [exponent, sign, zero] =
                [float::infinity(result.scalar), float::sign(result.scalar), 0].map(|bits| self.bits_in_all(of, bits));
            let exponent = self.op(Op::BitwiseAnd, of, [x, exponent].map(Operand::IdRef).to_vec());
            let is_small = self.op(Op::IEqual, bools, [exponent, zero].map(Operand::IdRef).to_vec());
            let sign = self.op(Op::BitwiseAnd, of, [x, sign].map(Operand::IdRef).to_vec());
            bits = self.op(Op::Select, of, [is_small, sign, x].map(Operand::IdRef).to_vec());
        }
        let (exponent, sign) = (float::infinity(result.scalar), float::sign(result.scalar));
        let [exponent, magnitude, quiet] =
            [exponent, sign - 1, float::quiet(result.scalar)].map(|bits| self.bits_in_all(of, bits));
        let magnitude = self.op(Op::BitwiseAnd, of, [bits, magnitude].map(Operand::IdRef).to_vec());
        let is_nan = self.op(Op::UGreaterThan, bools, [magnitude, exponent].map(Operand::IdRef).to_vec());
        let quieted = self.op(Op::BitwiseOr, of, [bits, quiet].map(Operand::IdRef).to_vec());
        let bits = self.op(Op::Select, of, [is_nan, quieted, bits].map(Operand::IdRef).to_vec());
        self.op(Op::Bitcast, result, vec![Operand::IdRef(bits)])
    }

    /// A rounded operation. What can be rearranged is not (rule F10).
    fn rounded(&mut self, op: Intrinsic, operands: &[Id], of: Type, result: Type) -> Id {
        let rounded = op.rounded();
        let float = |scalar: Option<Scalar>| scalar.map_or(of, |scalar| Type { scalar, ..of });
        let source = rounded.and_then(|rounded| rounded.source(of.scalar));
        let target = float(rounded.and_then(|rounded| rounded.target(of.scalar)));
        let numbers: Vec<Operand> = operands
            .iter()
            .map(|&id| match source {
                Some(_) => self.op(Op::Bitcast, float(source), vec![Operand::IdRef(id)]),
                None => id,
            })
            .map(Operand::IdRef)
            .collect();
        let (instruction, may_be_rearranged) = match rounded.map(|rounded| rounded.operation) {
            Some(Operation::Add) => (Op::FAdd, true),
            Some(Operation::Sub) => (Op::FSub, true),
            Some(Operation::Mul) => (Op::FMul, true),
            Some(Operation::OfFloat(_)) => (Op::FConvert, false),
            _ if of.scalar.is_signed() => (Op::ConvertSToF, false),
            _ => (Op::ConvertUToF, false),
        };
        let id = self.op(instruction, target, numbers);
        if may_be_rearranged {
            self.module.decorate(id, Decoration::NoContraction, &[]);
        }
        self.op(Op::Bitcast, result, vec![Operand::IdRef(id)])
    }

    pub(super) fn subgroup(&mut self, call: &SubgroupCall) -> Value {
        let info = call.op.info();
        let mut operands = Vec::with_capacity(4);
        let mut value = None;
        for (arg, param) in call.args.iter().zip(info.params) {
            let id = match (param, arg) {
                // It has to be a constant, by all rules about constants.
                (Param::BroadcastLane | Param::QuadIndex, Expr::Uint(k)) => self.uint(*k),
                _ => {
                    let (id, ty) = self.eval(arg);
                    if *param == Param::Value {
                        value = Some(ty);
                    }
                    id
                }
            };
            operands.push(Operand::IdRef(id));
        }
        // Behind the instruction, the row says how it is used.
        let group = match info.spirv.split(' ').nth(1) {
            None | Some("ClusterSize") => None,
            Some(direction @ ("Horizontal" | "Vertical" | "Diagonal")) => {
                let number = ["Horizontal", "Vertical", "Diagonal"].iter().position(|name| *name == direction);
                operands.extend(number.map(|number| Operand::IdRef(self.uint(number as u32))));
                None
            }
            // The grammar has its newer name.
            Some(group) => group.replace("NV", "EXT").parse::<GroupOperation>().ok(),
        };
        operands.extend(call.cluster.map(|size| Operand::IdRef(self.module.cluster_size(size))));
        let scope = info.scoped.then(|| Operand::IdScope(self.uint(Scope::Subgroup as u32)));
        let operands = scope.into_iter().chain(group.map(Operand::GroupOperation)).chain(operands).collect();
        let op = instruction(info, value.map_or(Scalar::Bool, |ty| ty.scalar));
        let result = info.result_type(value).unwrap_or(Type::UINT);
        (self.op(op, result, operands), result)
    }
}

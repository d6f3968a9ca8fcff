//! `GLSL.std.450`.

use smallvec::smallvec;

use super::memory::MemoryOperands;
use super::texel::Rounding;
use super::{Cells, Decoder, float_width, id_at, integer_width, invalid, literal_at};
use crate::code::*;
use crate::outcome::{Error, Why};
use crate::source::Instruction;
use crate::types::Type;

impl Decoder<'_> {
    pub(super) fn extended(&mut self, inst: &Instruction<'_>) -> Result<(), Error> {
        let set = id_at(inst, 0)?;
        if self.ignored_sets.contains(&set) {
            return Ok(());
        }
        let number = literal_at(inst, 1)?;
        if !self.glsl.contains(&set) {
            self.unsupported("extended instructions of a set that is not imported");
            let (id, ty) = self.result(inst)?;
            return self.define_undefined(id, ty);
        }
        let ids: Vec<u32> = (2..inst.operands.len()).map(|at| id_at(inst, at)).collect::<Result<_, _>>()?;
        let arity = |n: usize| -> Result<&[u32], Error> {
            ids.get(..n).ok_or_else(|| invalid(format!("GLSL.std.450 instruction {number} without its operands")))
        };
        if let Some(op) = float1(number) {
            let ids = arity(1)?;
            return self.each_of(inst, ids, &mut |this, scalars, x| {
                let d = this.emit(Op::Float1(op, float_width(scalars[0])?), [x[0], NONE, NONE]);
                Ok(d)
            });
        }
        if let Some(op) = float2(number) {
            let ids = arity(2)?;
            return self.each_of(inst, ids, &mut |this, scalars, x| {
                let d = this.emit(Op::Float2(op, float_width(scalars[0])?), [x[0], x[1], NONE]);
                Ok(d)
            });
        }
        if let Some(op) = int1(number) {
            let ids = arity(1)?;
            return self.each_of(inst, ids, &mut |this, scalars, x| {
                Ok(this.emit(Op::Int1(op, integer_width(scalars[0])?), [x[0], NONE, NONE]))
            });
        }
        if let Some(op) = int2(number) {
            let ids = arity(2)?;
            return self.each_of(inst, ids, &mut |this, scalars, x| {
                Ok(this.emit(Op::Int2(op, integer_width(scalars[0])?), [x[0], x[1], NONE]))
            });
        }
        match number {
            // UClamp, SClamp
            44 | 45 => {
                let ids = arity(3)?;
                self.each_of(inst, ids, &mut |this, scalars, x| {
                    let w = integer_width(scalars[0])?;
                    let scalar = crate::types::Scalar::Int(w, number == 45);
                    Ok(this.emit(Op::Clamp(scalar), [x[0], x[1], x[2]]))
                })
            }
            // FClamp, NClamp, FMix, Fma
            43 | 81 | 46 | 50 => {
                let ids = arity(3)?;
                self.each_of(inst, ids, &mut |this, scalars, x| {
                    let w = float_width(scalars[0])?;
                    let op = match number {
                        46 => Op::FMix(w),
                        50 => Op::Fma(w),
                        _ => Op::FClamp(w),
                    };
                    let x = this.settled(inst, x.iter().copied().collect());
                    let d = this.emit(op, [x[0], x[1], x[2]]);
                    Ok(this.settled(inst, smallvec![d])[0])
                })
            }
            // Ldexp
            53 => {
                let ids = arity(2)?;
                self.each_of(inst, ids, &mut |this, scalars, x| {
                    let op = Op::Ldexp(float_width(scalars[0])?, integer_width(scalars[1])?);
                    Ok(this.emit(op, [x[0], x[1], NONE]))
                })
            }
            // Modf and Frexp, ModfStruct and FrexpStruct
            35 | 51 | 36 | 52 => {
                let (x, scalar) = self.vector(arity(1)?[0])?;
                let w = float_width(scalar)?;
                let (id, ty) = self.result(inst)?;
                let pointer = if number == 35 || number == 51 { Some(self.pointer(arity(2)?[1])?) } else { None };
                let other = match (&pointer, self.types.get(ty)) {
                    (Some(pointer), _) => pointer.pointee,
                    (None, Type::Struct(members)) if members.len() == 2 => members[1].ty,
                    _ => return Err(invalid("a result that is no struct of two members")),
                };
                let (other, _) = self.types.components(other).ok_or_else(|| invalid("a part that is no vector"))?;
                let ops = match number {
                    35 | 36 => [Op::Float1(Float1::Fraction, w), Op::Float1(Float1::Trunc, w)],
                    _ => [Op::Float1(Float1::Significand, w), Op::Exponent(w, integer_width(other)?)],
                };
                let [mut first, second] =
                    ops.map(|op| -> Cells { x.iter().map(|&x| self.emit(op, [x, NONE, NONE])).collect() });
                match pointer {
                    Some(pointer) => self.store_cells(&pointer, MemoryOperands::default(), &second)?,
                    None => first.extend(second),
                }
                self.define(id, ty, first)
            }
            // Radians, Degrees: "x × C, where C is a correctly rounded constant" (Vulkan, "Precision of GLSL.std.450 Instructions")
            11 | 12 => {
                let ids = arity(1)?;
                self.each_of(inst, ids, &mut |this, scalars, x| {
                    let w = float_width(scalars[0])?;
                    if w != 32 {
                        return Ok(this.emit(Op::Open(Why::Precision), [x[0], NONE, NONE]));
                    }
                    let factor = if number == 11 { 1f32.to_radians() } else { 1f32.to_degrees() };
                    let factor = this.float_constant(factor);
                    let x = this.settled(inst, smallvec![x[0]]);
                    let product = this.emit(Op::Rearranged(Float2::Mul, w), [x[0], factor, NONE]);
                    let d = this.emit(Op::Inherited(w), [product, NONE, NONE]);
                    Ok(this.settled(inst, smallvec![d])[0])
                })
            }
            // Length, Normalize, Distance
            66 | 69 | 67 => {
                let (id, ty) = self.result(inst)?;
                let (x, scalar) = self.vector(arity(1)?[0])?;
                let mut x = self.settled(inst, x);
                let w = float_width(scalar)?;
                if number == 67 {
                    let (y, _) = self.vector(arity(2)?[1])?;
                    if x.len() != y.len() {
                        return Err(invalid("a distance of vectors with different numbers of components"));
                    }
                    let y = self.settled(inst, y);
                    let pairs = x.iter().zip(&y);
                    x = pairs.map(|(&x, &y)| self.emit(Op::Rearranged(Float2::Sub, w), [x, y, NONE])).collect();
                }
                let square = self.float_dot(w, &x, &x);
                if number != 69 {
                    let root = self.emit(Op::Float1(Float1::Sqrt, w), [square, NONE, NONE]);
                    let length = self.emit(Op::Inherited(w), [root, NONE, NONE]);
                    return self.define(id, ty, smallvec![length]);
                }
                let inverse = self.emit(Op::Float1(Float1::InverseSqrt, w), [square, NONE, NONE]);
                let out = x.iter().map(|&x| {
                    let product = self.emit(Op::Rearranged(Float2::Mul, w), [x, inverse, NONE]);
                    self.emit(Op::Inherited(w), [product, NONE, NONE])
                });
                let out = out.collect();
                let out = self.settled(inst, out);
                self.define(id, ty, out)
            }
            // PackDouble2x32, UnpackDouble2x32
            59 | 65 => {
                let (id, ty) = self.result(inst)?;
                let (cells, _) = self.vector(arity(1)?[0])?;
                let (from, to) = if number == 59 { (32, 64) } else { (64, 32) };
                let out = self.rebundle(&cells, from, to);
                self.define(id, ty, out)
            }
            // PackHalf2x16
            58 => {
                let (id, ty) = self.result(inst)?;
                let (cells, _) = self.vector(arity(1)?[0])?;
                let halves: Cells =
                    cells.iter().map(|&c| self.emit(Op::FloatConvert(32, 16), [c, NONE, NONE])).collect();
                let out = self.rebundle(&halves, 16, 32);
                self.define(id, ty, out)
            }
            // UnpackHalf2x16
            62 => {
                let (id, ty) = self.result(inst)?;
                let (cells, _) = self.vector(arity(1)?[0])?;
                let halves = self.rebundle(&cells, 32, 16);
                let out = halves.iter().map(|&c| self.emit(Op::FloatConvert(16, 32), [c, NONE, NONE])).collect();
                self.define(id, ty, out)
            }
            // PackSnorm4x8, PackUnorm4x8, PackSnorm2x16, PackUnorm2x16: "round(clamp(c, 0, +1) * 255.0)" and the like
            54..=57 => {
                let (id, ty) = self.result(inst)?;
                let (cells, _) = self.vector(arity(1)?[0])?;
                let (bits, signed) = (if number < 56 { 8 } else { 16 }, number % 2 == 0);
                let mut parts = Cells::new();
                for &cell in &cells {
                    let integer = self.encode_normalised(cell, bits, signed, Rounding::Nearest);
                    parts.push(self.emit(Op::Resize(32, bits, false), [integer, NONE, NONE]));
                }
                let out = self.rebundle(&parts, bits, 32);
                self.define(id, ty, out)
            }
            // UnpackSnorm2x16, UnpackUnorm2x16, UnpackSnorm4x8, UnpackUnorm4x8: "f / 255.0", "clamp(f / 127.0, -1, +1)"
            60 | 61 | 63 | 64 => {
                let (id, ty) = self.result(inst)?;
                let (cells, _) = self.vector(arity(1)?[0])?;
                let (bits, signed) = (if number < 62 { 16 } else { 8 }, number == 60 || number == 63);
                let (low, high) = (self.float_constant(-1.0), self.float_constant(1.0));
                let mut out = Cells::new();
                for part in self.rebundle(&cells, 32, bits) {
                    let quotient = self.normalised_quotient(part, bits, bits, signed);
                    out.push(match signed {
                        true => self.emit(Op::FClamp(32), [quotient, low, high]),
                        false => quotient,
                    });
                }
                self.define(id, ty, out)
            }
            // Cross
            68 => {
                let (id, ty) = self.result(inst)?;
                let [a, b] = [arity(2)?[0], ids[1]];
                let ((x, scalar), (y, _)) = (self.vector(a)?, self.vector(b)?);
                let w = float_width(scalar)?;
                let (x, y) = (self.settled(inst, x), self.settled(inst, y));
                if x.len() != 3 || y.len() != 3 {
                    return Err(invalid("a cross product of other than three components"));
                }
                let mut out = Cells::new();
                for (i, j) in [(1, 2), (2, 0), (0, 1)] {
                    let first = self.emit(Op::Rearranged(Float2::Mul, w), [x[i], y[j], NONE]);
                    let second = self.emit(Op::Rearranged(Float2::Mul, w), [y[i], x[j], NONE]);
                    let difference = self.emit(Op::Rearranged(Float2::Sub, w), [first, second, NONE]);
                    out.push(self.emit(Op::Inherited(w), [difference, NONE, NONE]));
                }
                let out = self.settled(inst, out);
                self.define(id, ty, out)
            }
            // Tan, Asin, Acos, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh
            15..=17 | 19..=24 => {
                let ids = arity(1)?;
                self.each_of(inst, ids, &mut |this, scalars, x| {
                    let w = float_width(scalars[0])?;
                    let x = this.settled(inst, smallvec![x[0]])[0];
                    let d = Formula { decoder: this, w }.trigonometric(number, x);
                    let d = this.emit(Op::Inherited(w), [d, NONE, NONE]);
                    Ok(this.settled(inst, smallvec![d])[0])
                })
            }
            // SmoothStep
            49 => {
                let ids = arity(3)?;
                self.each_of(inst, ids, &mut |this, scalars, x| {
                    let w = float_width(scalars[0])?;
                    let x = this.settled(inst, x.iter().copied().collect());
                    let d = Formula { decoder: this, w }.smooth_step([x[0], x[1], x[2]]);
                    Ok(this.settled(inst, smallvec![d])[0])
                })
            }
            // FaceForward, Reflect, Refract
            70..=72 => {
                let (id, ty) = self.result(inst)?;
                let [a, b] = [arity(2)?[0], ids[1]];
                let ((a, scalar), (b, _)) = (self.vector(a)?, self.vector(b)?);
                let third = if number == 71 { Cells::new() } else { self.vector(arity(3)?[2])?.0 };
                if a.len() != b.len() || number == 70 && third.len() != a.len() || number == 72 && third.len() != 1 {
                    return Err(invalid("vectors with different numbers of components"));
                }
                let [a, b, third] = [a, b, third].map(|cells| self.settled(inst, cells));
                let mut formula = Formula { decoder: self, w: float_width(scalar)? };
                let out = match number {
                    70 => formula.face_forward(&a, &b, &third),
                    71 => formula.reflect(&a, &b),
                    _ => formula.refract(&a, &b, third[0]),
                };
                let out = self.settled(inst, out);
                self.define(id, ty, out)
            }
            // Determinant and MatrixInverse: "GLSL.std.450 extended instructions not listed above and not defined in terms of the above have undefined precision"
            // (Vulkan, "Precision of Individual Operations"). IMix was never defined.
            33 | 34 | 47 => self.open(inst, &ids),
            other => {
                self.unsupported(format!("GLSL.std.450 instruction {other}"));
                let (id, ty) = self.result(inst)?;
                self.define_undefined(id, ty)
            }
        }
    }

    /// A result that is open, whatever its operands are; it is undefined if one of them is.
    fn open(&mut self, inst: &Instruction<'_>, ids: &[u32]) -> Result<(), Error> {
        let (id, ty) = self.result(inst)?;
        let mut all = Cells::new();
        for &operand in ids {
            let cells = self.cells(operand)?;
            all.extend(cells);
        }
        let d = self.emit_row(Op::Open(Why::Precision), &all);
        let count = self.checked_cells(ty)?;
        self.define(id, ty, smallvec![d; count])
    }
}

/// What GLSL.std.450 defines by formulas: the table "Precision of GLSL.std.450 Instructions" of Vulkan has each of them.
struct Formula<'d, 'm> {
    decoder: &'d mut Decoder<'m>,
    w: u8,
}

impl Formula<'_, '_> {
    fn number(&mut self, value: f64) -> Reg {
        self.decoder.constant_column(crate::exec::format::encode(self.w, value).unwrap_or(0))
    }

    fn one(&mut self, op: Float1, x: Reg) -> Reg {
        self.decoder.emit(Op::Float1(op, self.w), [x, NONE, NONE])
    }

    fn two(&mut self, op: Float2, x: Reg, y: Reg) -> Reg {
        self.decoder.emit(Op::Rearranged(op, self.w), [x, y, NONE])
    }

    fn inherited(&mut self, x: Reg) -> Reg {
        self.decoder.emit(Op::Inherited(self.w), [x, NONE, NONE])
    }

    /// `x × x + c`, or `c - x × x`.
    fn square_and(&mut self, x: Reg, minus: bool, c: f64) -> Reg {
        let (square, c) = (self.two(Float2::Mul, x, x), self.number(c));
        if minus { self.two(Float2::Sub, c, square) } else { self.two(Float2::Add, square, c) }
    }

    /// `exp(x) + exp(-x)` or `exp(x) - exp(-x)`, times a half.
    fn hyperbolic(&mut self, op: Float2, x: Reg) -> Reg {
        let negated = self.one(Float1::Negate, x);
        let (up, down) = (self.one(Float1::Exp, x), self.one(Float1::Exp, negated));
        let (both, half) = (self.two(op, up, down), self.number(0.5));
        self.two(Float2::Mul, both, half)
    }

    fn trigonometric(mut self, number: u32, x: Reg) -> Reg {
        match number {
            // tan: sin() / cos()
            15 => {
                let (sine, cosine) = (self.one(Float1::Sin, x), self.one(Float1::Cos, x));
                self.two(Float2::Div, sine, cosine)
            }
            // asin: atan2(x, sqrt(1.0 - x × x)), acos: atan2(sqrt(1.0 - x × x), x)
            16 | 17 => {
                let square = self.square_and(x, true, 1.0);
                let root = self.one(Float1::Sqrt, square);
                let operands = if number == 16 { [x, root, NONE] } else { [root, x, NONE] };
                self.decoder.emit(Op::Float2(Float2::Atan2, self.w), operands)
            }
            19 => self.hyperbolic(Float2::Sub, x),
            20 => self.hyperbolic(Float2::Add, x),
            // tanh: sinh() / cosh()
            21 => {
                let (sine, cosine) = (self.hyperbolic(Float2::Sub, x), self.hyperbolic(Float2::Add, x));
                let (sine, cosine) = (self.inherited(sine), self.inherited(cosine));
                self.two(Float2::Div, sine, cosine)
            }
            // asinh: log(x + sqrt(x × x + 1.0)), acosh: log(x + sqrt(x × x - 1.0))
            22 | 23 => {
                let square = self.square_and(x, false, if number == 22 { 1.0 } else { -1.0 });
                let root = self.one(Float1::Sqrt, square);
                let sum = self.two(Float2::Add, x, root);
                self.one(Float1::Log, sum)
            }
            // atanh: log((1.0 + x) / (1.0 - x)) × 0.5
            _ => {
                let (one, half) = (self.number(1.0), self.number(0.5));
                let (above, below) = (self.two(Float2::Add, one, x), self.two(Float2::Sub, one, x));
                let quotient = self.two(Float2::Div, above, below);
                let logarithm = self.one(Float1::Log, quotient);
                self.two(Float2::Mul, logarithm, half)
            }
        }
    }

    /// "t × t × (3.0 - 2.0 × t), where t = clamp((x - edge0) / (edge1 - edge0), 0.0, 1.0)"; "Result is undefined if edge0 ≥ edge1" (GLSL.std.450, SmoothStep).
    fn smooth_step(mut self, [low, high, x]: [Reg; 3]) -> Reg {
        let w = self.w;
        let (zero, one) = (self.number(0.0), self.number(1.0));
        let (above, range) = (self.two(Float2::Sub, x, low), self.two(Float2::Sub, high, low));
        let quotient = self.two(Float2::Div, above, range);
        let t = self.decoder.emit(Op::FClamp(w), [quotient, zero, one]);
        let (two, three) = (self.number(2.0), self.number(3.0));
        let twice = self.two(Float2::Mul, two, t);
        let rest = self.two(Float2::Sub, three, twice);
        let square = self.two(Float2::Mul, t, t);
        let product = self.two(Float2::Mul, square, rest);
        let result = self.inherited(product);
        let ordered = self.decoder.emit(Op::FloatCompare(FloatCompare::Less, w, false), [low, high, NONE]);
        let undefined = self.decoder.emit_row(Op::Open(Why::Operands), &[]);
        self.decoder.emit(Op::Select, [ordered, result, undefined])
    }

    /// "dot(NRef, I) < 0.0 ? N : -N"
    fn face_forward(&mut self, n: &[Reg], i: &[Reg], reference: &[Reg]) -> Cells {
        let w = self.w;
        let (dot, zero) = (self.decoder.float_dot(w, reference, i), self.number(0.0));
        let faces = self.decoder.emit(Op::FloatCompare(FloatCompare::Less, w, false), [dot, zero, NONE]);
        let choose = |&n: &Reg| {
            let negated = self.one(Float1::Negate, n);
            self.decoder.emit(Op::Select, [faces, n, negated])
        };
        n.iter().map(choose).collect()
    }

    /// "x - 2.0 × dot(y, x) × y"
    fn reflect(&mut self, x: &[Reg], y: &[Reg]) -> Cells {
        let (dot, two) = (self.decoder.float_dot(self.w, y, x), self.number(2.0));
        let twice = self.two(Float2::Mul, two, dot);
        let part = |(&x, &y): (&Reg, &Reg)| {
            let product = self.two(Float2::Mul, twice, y);
            let difference = self.two(Float2::Sub, x, product);
            self.inherited(difference)
        };
        x.iter().zip(y).map(part).collect()
    }

    /// "k < 0.0 ? 0.0 : eta × I - (eta × dot(N, I) + sqrt(k)) × N, where k = 1 - eta × eta × (1.0 - dot(N, I) × dot(N, I))"
    fn refract(&mut self, i: &[Reg], n: &[Reg], eta: Reg) -> Cells {
        let w = self.w;
        let dot = self.decoder.float_dot(w, n, i);
        let (zero, one) = (self.number(0.0), self.number(1.0));
        let (rest, square) = (self.square_and(dot, true, 1.0), self.two(Float2::Mul, eta, eta));
        let product = self.two(Float2::Mul, square, rest);
        let k = self.two(Float2::Sub, one, product);
        let inside = self.decoder.emit(Op::FloatCompare(FloatCompare::Less, w, false), [k, zero, NONE]);
        let (root, along) = (self.one(Float1::Sqrt, k), self.two(Float2::Mul, eta, dot));
        let factor = self.two(Float2::Add, along, root);
        let part = |(&i, &n): (&Reg, &Reg)| {
            let (first, second) = (self.two(Float2::Mul, eta, i), self.two(Float2::Mul, factor, n));
            let difference = self.two(Float2::Sub, first, second);
            let result = self.inherited(difference);
            self.decoder.emit(Op::Select, [inside, zero, result])
        };
        i.iter().zip(n).map(part).collect()
    }
}

fn float1(number: u32) -> Option<Float1> {
    Some(match number {
        1 => Float1::Round,
        2 => Float1::RoundEven,
        3 => Float1::Trunc,
        4 => Float1::Abs,
        6 => Float1::Sign,
        8 => Float1::Floor,
        9 => Float1::Ceil,
        10 => Float1::Fract,
        13 => Float1::Sin,
        14 => Float1::Cos,
        18 => Float1::Atan,
        27 => Float1::Exp,
        28 => Float1::Log,
        29 => Float1::Exp2,
        30 => Float1::Log2,
        31 => Float1::Sqrt,
        32 => Float1::InverseSqrt,
        _ => return None,
    })
}

fn float2(number: u32) -> Option<Float2> {
    Some(match number {
        25 => Float2::Atan2,
        26 => Float2::Pow,
        37 => Float2::Min,
        40 => Float2::Max,
        48 => Float2::Step,
        79 => Float2::NMin,
        80 => Float2::NMax,
        _ => return None,
    })
}

fn int1(number: u32) -> Option<Int1> {
    Some(match number {
        5 => Int1::SAbs,
        7 => Int1::SSign,
        73 => Int1::FindILsb,
        74 => Int1::FindSMsb,
        75 => Int1::FindUMsb,
        _ => return None,
    })
}

fn int2(number: u32) -> Option<Int2> {
    Some(match number {
        38 => Int2::UMin,
        39 => Int2::SMin,
        41 => Int2::UMax,
        42 => Int2::SMax,
        _ => return None,
    })
}

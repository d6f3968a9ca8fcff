//! More live values than a processor has registers for.

use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Block, Expr, VarId};
use tangle_program::types::{Scalar, Shape, Type};

use super::super::Builder;
use super::super::control::LoopHead;
use super::super::term::{bin, lane, uint};
use super::memory::plain_head;
use crate::class::{Class, Decision};
use crate::weights::LoopForm;

/// The least number of vectors that are kept: with four words each, half of the registers that an invocation has on a GPU.
const LEAST: u32 = 32;

/// What no compiler keeps in registers.
const ARRAY: Type = Type { shape: Shape::Array(64), ..Type::UINT };

/// How many of them one expression joins in the end.
const JOINED: usize = 8;

impl Builder<'_> {
    /// `v0 = …; … v31 = …; for (…) { v3 = v3 + v8; …; operation } r = v0 ^ v1 ^ …;`: vectors that live through a loop which lanes leave one by one.
    pub(super) fn pressure(&mut self, out: &mut Block) {
        let ty = Type::vector(Scalar::Uint, 4);
        let kept: Vec<VarId> = (0..LEAST + self.draw.below(9)).map(|_| self.private("kept", ty)).collect();
        for (k, &var) in (0..).zip(&kept) {
            let word = match self.draw.below(3) {
                0 => lane(),
                1 => self.input(),
                _ => self.constant_word(),
            };
            let parts = (0..4).map(|c| bin(BinaryOp::Add, word.clone(), uint(4 * k + c))).collect();
            self.set(var, Expr::Vector(ty, parts), out);
        }
        let spilled = if self.draw.percent(50) { Some(self.filled_array(out)) } else { None };
        let written = self.frame.clock;
        let trips = self.draw.pick(&[3, 4, 5]).min(self.affordable_trips());
        let (form, bound) = (self.form(), self.bound(trips, Decision::Divergent));
        let (stmt, counter) = self.repeat(
            LoopHead { form, bound, decision: Decision::Divergent },
            |_, _| None,
            |b, _| {
                let mut body = Vec::new();
                for _ in 0..3 {
                    let (to, from) = (b.draw.pick(&kept), b.draw.pick(&kept));
                    let op = b.draw.pick(&[BinaryOp::Add, BinaryOp::BitXor, BinaryOp::Sub]);
                    b.set(to, bin(op, Expr::Var(to), Expr::Var(from)), &mut body);
                }
                if let Some(array) = spilled {
                    let index = b.index(ARRAY);
                    b.set_element(array, index, Expr::Component(Box::new(Expr::Var(kept[0])), 0), &mut body);
                }
                let (detector, seen) = (b.detector(ty), b.draw.pick(&kept));
                b.detect(detector, ty, Expr::Var(seen), &mut body);
                body
            },
        );
        out.push(stmt);
        self.after_loop(counter, written, out);
        let sum = self.private("sum", ty);
        for part in kept.chunks(JOINED) {
            let joined = part.iter().fold(Expr::Var(sum), |sum, &var| bin(BinaryOp::BitXor, sum, Expr::Var(var)));
            self.set(sum, joined, out);
        }
        if let Some(array) = spilled {
            let elements =
                (0..4).map(|_| Expr::Element(Box::new(Expr::Var(array)), Box::new(self.index(ARRAY)))).collect();
            self.set(sum, bin(BinaryOp::BitXor, Expr::Var(sum), Expr::Vector(ty, elements)), out);
        }
        let result = self.result_variable(ty, Class::Clean);
        self.keep(result, Expr::Var(sum), out);
    }

    /// An array that no compiler keeps in registers, filled.
    fn filled_array(&mut self, out: &mut Block) -> VarId {
        let array = self.private("spilled", ARRAY);
        let factor = uint(self.draw.pick(&[5, 3, 0x9E37_79B9]));
        let count = ARRAY.indexed().map_or(1, |(_, count)| u32::from(count));
        let trips = count.min(self.affordable_trips());
        let head = LoopHead { form: LoopForm::For, bound: (uint(trips), trips), decision: Decision::Divergent };
        let (mut stmt, _) = self.repeat(
            head,
            |_, _| None,
            |b, counter| {
                let mut body = Vec::new();
                let index = bin(BinaryOp::BitAnd, Expr::Var(counter), uint(count - 1));
                let value = bin(BinaryOp::Add, bin(BinaryOp::Mul, Expr::Var(counter), factor), lane());
                b.set_element(array, index, value, &mut body);
                body
            },
        );
        plain_head(&mut stmt);
        out.push(stmt);
        array
    }
}

//! More live values than a processor has registers for.

use tangle_program::ops::BinaryOp;
use tangle_program::tree::{Block, Expr, VarId};
use tangle_program::types::{Scalar, Type};

use super::super::Builder;
use super::super::control::LoopHead;
use super::super::expression::{bin, lane, uint};
use crate::class::{Class, Decision};

/// The least number of vectors that are kept: with four words each, half of the registers that an invocation has on a GPU.
const LEAST: u32 = 32;

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
        let result = self.result_variable(ty, Class::Clean);
        self.keep(result, Expr::Var(sum), out);
    }
}

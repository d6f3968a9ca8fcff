//! From bytes to a case.

mod aggregate;
pub(crate) mod algebra;
mod builder;
mod cond;
mod condition;
mod control;
pub(crate) mod data;
mod derivative;
mod entry_point;
mod estimate;
mod expression;
mod float;
mod frame;
mod function;
mod hint;
pub(crate) mod idiom;
mod log;
mod operation;
mod preserved;
mod resource;
mod rounded;
mod row;
mod series;
mod statement;
mod template;
mod term;
mod vector;

use tangle_program::case::{Case, Data, EntryPoint, FORMAT, Origin, Stage};
use tangle_program::subgroup::TABLE;
use tangle_program::tree::Program;
use tangle_program::types::{Scalar, Type};
use tangle_program::variant::Variant;

use crate::class::{Class, Flow};
use crate::config::{Config, Density, Size};
use crate::draw::Draw;
use crate::weights::{Rows, Weights};
pub(crate) use builder::Builder;
use builder::{FINAL_STEPS, FINAL_WORDS};
use estimate::EstimatedMask;
use frame::{Cost, Frame, Role};

/// Bytes of the swarm, the launch, the data and the start of `main`.
const SWARM: (usize, usize) = (0, 160);
const LAUNCH: (usize, usize) = (160, 32);
const DATA: (usize, usize) = (192, 64);
const PRELUDE: (usize, usize) = (256, 64);
const HEADER: usize = 320;
/// Bytes of one top-level statement of `main` with everything in it.
const WINDOW: usize = 1024;
/// Windows of a series.
const SERIES: usize = 2;
/// Statements that one of `main`'s own may be made of at least.
const LEAST_SHARE: u32 = 6;
/// Of a hundred programs, those that mix what they observe into one word.
const TRACING_PROGRAMS: u32 = 85;

/// How many bytes a case of that size can use.
pub(crate) fn useful_bytes(size: &Size) -> usize {
    HEADER + WINDOW * (most_top(size) as usize + SERIES)
}

fn most_top(size: &Size) -> u32 {
    size.top + size.top / 2
}

/// The case of these bytes.
pub(crate) fn case(bytes: &[u8], config: &Config) -> Case {
    let mut draw = Draw::new(bytes);
    draw.window(SWARM.0, SWARM.1);
    let rows = Rows {
        statements: statement::weights(config.profile),
        templates: template::weights(config.profile),
        arithmetic: expression::weights(config.profile),
        conditions: condition::weights(config.profile),
    };
    let mut weights = Weights::new(config.profile, rows);
    weights.swarm(&mut draw);
    let frequencies = if traces(config.stage) { [1, 2, 6, 10] } else { [4, 5, 6, 5] };
    let density = config.density.unwrap_or_else(|| Density::ALL[draw.index(frequencies.into_iter())]);
    draw.window(LAUNCH.0, LAUNCH.1);
    let mut entry_point = entry_point::entry_point(&mut draw, config);
    draw.window(DATA.0, DATA.1);
    let data = data::data(&mut draw, &entry_point, config);
    let demotes = config.demote && draw.percent(70);
    entry_point.float_controls = rounded::float_controls(&mut draw, config);
    Builder { demotes, ..Builder::new(draw, config, weights, density, entry_point, data) }.finish()
}

/// True if programs of the stage mix what they observe into one word. Elsewhere more is open than the generator knows (helpers that may be
/// gone, invocations that nobody says who they are with), and one open value hides all that is mixed with it.
fn traces(stage: Stage) -> bool {
    stage.has_workgroups()
}

impl<'a> Builder<'a> {
    fn new(
        draw: Draw<'a>,
        config: &'a Config,
        mut weights: Weights,
        density: Density,
        entry_point: EntryPoint,
        data: Data,
    ) -> Self {
        let size = config.size.unwrap_or(config.profile.size());
        let limit =
            Cost { words: size.log_words.saturating_sub(FINAL_WORDS), steps: size.steps.saturating_sub(FINAL_STEPS) };
        for (weight, info) in weights.ops.iter_mut().zip(&TABLE) {
            if !config.categories.contains(&info.category) || config.without.contains(&info.op) {
                *weight = 0;
            }
        }
        for scalar in Scalar::ALL.into_iter().filter(|scalar| scalar.is_extended()) {
            if !config.scalars.contains(&scalar) {
                weights.scalars[scalar as usize] = 0;
            }
        }
        if !config.expect_assume {
            weights.hints = 0;
        }
        let all = EstimatedMask::all(&entry_point);
        let frame = Frame::new("main".into(), Flow::entry(config.tier), all, limit, 0);
        Builder {
            draw,
            config,
            size,
            density,
            weights,
            entry_point,
            data,
            shared: Vec::new(),
            functions: Vec::new(),
            made: Vec::new(),
            frame,
            statements: size.statements,
            next_site: 1,
            has_long_sum: false,
            demotes: config.demote,
            trace: None,
            turns: series::turns(config, &size),
            nested_types: Vec::new(),
        }
    }

    fn finish(mut self) -> Case {
        self.draw.window(PRELUDE.0, PRELUDE.1);
        let mut body = Vec::new();
        self.prelude(&mut body);
        if traces(self.config.stage) && self.draw.percent(TRACING_PROGRAMS) {
            self.trace = Some(self.frame.local("trace", Type::UINT, Class::Clean, Role::Private));
        }
        let top = self.draw.range(self.size.top / 2, most_top(&self.size)) as usize;
        // Straight code costs a driver almost nothing: every program has some.
        let series_at = self.draw.below(top.max(1) as u32) as usize;
        let mut left = self.statements;
        for k in 0..top.max(1) {
            if k == series_at {
                self.draw.window(HEADER + most_top(&self.size) as usize * WINDOW, SERIES * WINDOW);
                if !self.draw.is_exhausted() {
                    self.series(&mut body);
                }
            }
            self.draw.window(HEADER + k * WINDOW, WINDOW);
            if self.draw.is_exhausted() && k > 0 || left == 0 {
                break;
            }
            // No statement takes everything from those after it.
            let share = (2 * left / (top - k).max(1) as u32).clamp(LEAST_SHARE, left.max(LEAST_SHARE));
            self.statements = share;
            self.main_statement(k, top, &mut body);
            left = left.saturating_sub(share - self.statements);
        }
        self.final_log(&mut body);
        self.frame.function.body = body;
        self.functions.push(self.frame.function);
        let mut program = Program { shared: self.shared, functions: self.functions };
        program.number_sites();
        hint::make_precise(&mut program, self.weights.precise);
        Case {
            format: FORMAT,
            about: String::new(),
            origin: Origin {
                profile: Some(self.config.profile.name().into()),
                generator: Some(env!("CARGO_PKG_VERSION").into()),
                ..Origin::default()
            },
            tier: self.config.tier,
            entry_point: self.entry_point,
            variant: Variant::default(),
            data: self.data,
            program,
        }
    }
}

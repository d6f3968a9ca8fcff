//! How large programs may become.

use serde::{Deserialize, Serialize};

/// How large a program may become. Each is a limit, not a goal; programs stay well below most of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Statements that `main` starts at its top level; most of them contain others.
    pub top: u32,
    /// Statements in the whole program.
    pub statements: u32,
    /// Constructs nested in each other within one function.
    pub depth: u32,
    /// Functions that are written beside `main`.
    pub functions: u32,
    /// Words one invocation may log at most, by the static bounds of its loops.
    pub log_words: u32,
    /// Statements one invocation may execute at most, by the same count.
    pub steps: u32,
    /// Parts of a series of small things: at least so many, and at most.
    #[serde(default = "Size::series_of_drivers")]
    pub series: (u32, u32),
}

impl Size {
    /// Straight code costs a driver almost nothing.
    const SERIES: (u32, u32) = (14, 30);

    /// A handful of statements: for quick runs and slow devices.
    pub const SMALL: Size =
        Size { top: 3, statements: 10, depth: 3, functions: 1, log_words: 128, steps: 1_000, series: Size::SERIES };
    /// What a campaign runs.
    pub const MEDIUM: Size =
        Size { top: 6, statements: 26, depth: 5, functions: 3, log_words: 512, steps: 4_000, series: Size::SERIES };
    /// Programs that strain a compiler.
    pub const LARGE: Size = Size {
        top: 16,
        statements: 100,
        depth: 7,
        functions: 6,
        log_words: 2_048,
        steps: 12_000,
        series: Size::SERIES,
    };

    /// Half as many statements, logged words and parts, nested as deeply: for devices that a program costs as much as it has statements.
    #[must_use]
    pub fn halved(self) -> Size {
        let Size { top, statements, log_words, series: (least, most), .. } = self;
        let series = (least / 2, most / 2);
        Size { top: top.div_ceil(2), statements: statements / 2, log_words: log_words / 2, series, ..self }
    }

    fn series_of_drivers() -> (u32, u32) {
        Size::SERIES
    }
}

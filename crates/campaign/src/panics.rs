//! Panics of tangle itself.

use std::any::Any;

/// Longest message that is kept, in characters.
const LONGEST: usize = 300;

/// What a panic says.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("tangle panicked: {}", tangle_report::text::shortened(text.unwrap_or("it does not say why"), LONGEST))
}

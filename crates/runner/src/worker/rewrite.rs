//! Faults planted in the source that a device's own front end gets.

use std::borrow::Cow;

/// Test hook: environment variable of a worker, `FROM=>TO`: this text is replaced in every source before the device sees it.
pub const REWRITE_VARIABLE: &str = "TANGLE_WORKER_REWRITE";

/// The source that the device gets.
pub(super) fn rewritten(source: &str) -> Cow<'_, str> {
    match std::env::var(REWRITE_VARIABLE).ok().as_deref().and_then(|rewrite| rewrite.split_once("=>")) {
        Some((from, to)) if !from.is_empty() => source.replace(from, to).into(),
        _ => source.into(),
    }
}

//! Why a case is not valid, and how checks say it.

use std::fmt;

/// Why a case is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", Prefix(path))]
pub struct Invalid {
    /// Where: the path in the JSON form, `program.functions[2].body[3].if.then[0].assign.value.binary[1]` say.
    pub path: String,
    /// What is wrong there.
    pub reason: String,
}

struct Prefix<'a>(&'a str);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "{}: ", self.0) }
    }
}

pub(super) type Checked<T = ()> = Result<T, Invalid>;

pub(super) fn invalid<T>(reason: impl Into<String>) -> Checked<T> {
    Err(Invalid { path: String::new(), reason: reason.into() })
}

/// `refuse!("format", …)`: an error with a formatted reason.
macro_rules! refuse {
    ($($arg:tt)*) => { return invalid(format!($($arg)*)) };
}
pub(super) use refuse;

/// Says where an error was found, from the inside out, so that a valid case pays nothing for it.
pub(super) trait At<T> {
    fn at(self, segment: impl FnOnce() -> String) -> Checked<T>;
}

impl<T> At<T> for Checked<T> {
    fn at(self, segment: impl FnOnce() -> String) -> Checked<T> {
        self.map_err(|Invalid { path, reason }| {
            let mut whole = segment();
            if !path.is_empty() && !path.starts_with('[') && !whole.is_empty() {
                whole.push('.');
            }
            whole.push_str(&path);
            Invalid { path: whole, reason }
        })
    }
}

/// Applies a check to the items of a list; errors say which item.
pub(super) fn each<T>(items: &[T], mut check: impl FnMut(&T) -> Checked) -> Checked {
    (0..).zip(items).try_for_each(|(i, item)| check(item).at(|| format!("[{i}]")))
}

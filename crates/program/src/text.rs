//! Names and sentences as people read them: what several crates do to a text.

/// A name of JSON as words: `lane_map` is `lane map`.
pub fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

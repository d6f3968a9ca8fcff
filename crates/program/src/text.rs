//! Names and sentences as people read them, and names of files from sentences.

/// A name of JSON as words: `lane_map` is `lane map`.
pub fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

/// The text with a capital at its beginning.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The words of a text as the name of a file: small letters, digits and single dashes.
pub fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// The name of a variant in JSON: `elect_highest` of `ElectHighest`.
pub fn snake_case(camel: &str) -> String {
    let mut name = String::new();
    for c in camel.chars() {
        if c.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_words_with_dashes() {
        assert_eq!(slug("llvmpipe wrong result: after-loop(Add)"), "llvmpipe-wrong-result-after-loop-add");
        assert_eq!(slug("  A  b "), "a-b");
        assert_eq!(slug("…"), "");
    }
}

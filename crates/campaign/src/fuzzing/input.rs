//! What an input of a fuzz target means: the same on every machine, whatever devices there are.
//!
//! | input | is |
//! |---|---|
//! | JSON of a case | that case: what corpora and artifacts are made of; no generator can change what it means |
//! | anything else | bytes for the generator: tier, profile, and what is drawn from |

use std::path::Path;

use arbitrary::Unstructured;
use tangle_analysis::validate::validate;
use tangle_generator::{Config, Profile, generate};
use tangle_program::case::{Case, Tier};
use tangle_program::json::JsonError;

/// The case that an input stands for; `None` if it is the JSON form of an invalid one.
pub fn case(input: &[u8]) -> Option<Case> {
    match from_json(input) {
        Some(Ok(case)) => validate(&case).is_ok().then_some(case),
        _ => Some(from_bytes(input)),
    }
}

/// The case that a text stands for; `None` if it does not look like JSON.
pub fn from_json(input: &[u8]) -> Option<Result<Case, JsonError>> {
    let text = std::str::from_utf8(input).ok()?;
    text.trim_start().starts_with('{').then(|| Case::from_json(text))
}

/// The case that the generator makes of bytes. The first two choose tier and profile.
pub fn from_bytes(bytes: &[u8]) -> Case {
    let (&tier, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let (&profile, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let config = Config {
        tier: Tier::ALL[usize::from(tier) % Tier::ALL.len()],
        profile: Profile::ALL[usize::from(profile) % Profile::ALL.len()].0,
        required_sizes: vec![4, 8, 16, 32, 64],
        ..Config::default()
    };
    generate(&mut Unstructured::new(bytes), &config).expect("the generator takes every number of bytes")
}

/// True for the names that libFuzzer gives files: a hash in a corpus, a kind and a hash for artifacts.
pub fn has_name_of_input(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let hash = name.rsplit('-').next().unwrap_or(name);
    hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libfuzzers_names() {
        let hash = "adc83b19e793491b1c6ea0fd8b46cd9f32e592fc";
        for (name, is) in [
            (hash.to_owned(), true),
            (format!("some/folder/crash-{hash}"), true),
            (format!("slow-unit-{hash}"), true),
            (format!("{hash}.json"), false),
            ("README.md".into(), false),
        ] {
            assert_eq!(has_name_of_input(Path::new(&name)), is, "{name}");
        }
    }

    #[test]
    fn inputs_are_cases_or_bytes() {
        let made = from_bytes(&[2; 2000]);
        assert_eq!(case(made.to_json().as_bytes()).as_ref(), Some(&made));
        assert_eq!(case(&[2; 2000]), Some(made.clone()));
        let mut broken = made;
        broken.entry_point.workgroups_mut().size = [0, 1, 1];
        assert_eq!(case(broken.to_json().as_bytes()), None);
        assert!(case(b"{ no JSON").is_some(), "bytes like any others");
    }
}

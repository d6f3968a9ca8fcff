//! `corpus/expectations.toml`: known results on known drivers.

use serde::Deserialize;

use super::{read, root};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    #[serde(default)]
    pub expected: Vec<Expected>,
    #[serde(default)]
    pub moving: Vec<Moving>,
}

/// A result that is expected although it is wrong, or says nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub case: String,
    pub tier: Option<String>,
    pub driver: Option<String>,
    pub subgroup_size: Option<u64>,
    pub result: String,
    pub why: String,
}

/// A device whose driver changes by itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moving {
    pub device: String,
    pub why: String,
}

impl Expectations {
    pub fn read() -> Expectations {
        let path = root().join("corpus/expectations.toml");
        toml::from_str(&read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn moves(&self, device: &str) -> bool {
        self.moving.iter().any(|moving| matches(&moving.device, device))
    }
}

/// True if the pattern stands for the text; `*` stands for anything.
pub fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => {
            let Some(text) = text.strip_prefix(start) else { return false };
            (0..=text.len()).filter(|&at| text.is_char_boundary(at)).any(|at| matches(rest, &text[at..]))
        }
    }
}

//! One of several parts of something that is divided without overlap: the cases of a folder by their names, the programs of a campaign by
//! their numbers. Part `I/N` is the same on every machine, so that whatever starts jobs with a number is all that is needed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One of several parts, which have everything together, and nothing twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// Which part, from 1 to `of`.
    number: u32,
    of: u32,
}

impl Default for Shard {
    fn default() -> Shard {
        Shard { number: 1, of: 1 }
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Reads `I/N`, from `1/N` to `N/N`.
    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        parts.and_then(|(number, of)| Shard::new(number, of)).ok_or_else(|| "a shard is I/N, from 1/N to N/N".into())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl Serialize for Shard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Shard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shard, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Shard {
    /// One of several parts, counted from 1; `None` if there is no such part.
    pub fn new(number: u32, of: u32) -> Option<Shard> {
        (1..=of).contains(&number).then_some(Shard { number, of })
    }

    /// True if it is everything.
    pub fn is_all(&self) -> bool {
        self.of == 1
    }

    /// True if what has this name belongs to the shard.
    pub fn has(self, name: &str) -> bool {
        let hash = blake3::hash(name.as_bytes());
        let start = hash.as_bytes().first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        start % u64::from(self.of) == u64::from(self.number - 1)
    }

    /// The number, in the whole sequence, of what comes at a place of this part's own sequence.
    pub fn number_at(self, place: u64) -> u64 {
        place * u64::from(self.of) + u64::from(self.number - 1)
    }

    /// The place in this part's own sequence of the first thing with at least this number.
    pub fn place_of(self, number: u64) -> u64 {
        number.saturating_sub(u64::from(self.number - 1)).div_ceil(self.of.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_a_partition() {
        let names: Vec<String> = (0..200).map(|i| format!("folder/case-{i}")).collect();
        for of in 1..=7 {
            let shards: Vec<Shard> = (1..=of).map(|number| Shard { number, of }).collect();
            for name in &names {
                assert_eq!(shards.iter().filter(|shard| shard.has(name)).count(), 1, "{name} in {of} shards");
            }
            assert!(shards.iter().all(|shard| names.iter().any(|name| shard.has(name))), "{of} shards");
            let mut numbers: Vec<u64> =
                shards.iter().flat_map(|shard| (0..10).map(|place| shard.number_at(place))).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..10 * u64::from(of)).collect::<Vec<_>>());
            for shard in shards {
                for number in 0..30 {
                    let place = shard.place_of(number);
                    assert!(shard.number_at(place) >= number);
                    assert!(place == 0 || shard.number_at(place - 1) < number);
                }
            }
        }
    }

    #[test]
    fn a_shard_is_read_as_it_is_shown() {
        let table = [("1/1", true), ("4/4", true), ("0/4", false), ("5/4", false), ("1", false), ("1/0", false)];
        for (text, good) in table {
            let read = text.parse::<Shard>();
            assert_eq!(read.as_ref().map(ToString::to_string).ok().as_deref(), good.then_some(text));
        }
    }
}

//! Sets of features.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Feature, FeatureRow, TABLE};

impl Feature {
    /// Its row of [`TABLE`].
    pub const fn row(self) -> &'static FeatureRow {
        &TABLE[self as usize]
    }

    /// The name in the Vulkan specification.
    pub const fn name(self) -> &'static str {
        self.row().name
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is not a [`Feature`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown Vulkan feature `{0}`")]
pub struct UnknownFeature(pub String);

impl FromStr for Feature {
    type Err = UnknownFeature;

    fn from_str(name: &str) -> Result<Feature, UnknownFeature> {
        let found = Feature::ALL.iter().find(|feature| feature.name() == name);
        found.copied().ok_or_else(|| UnknownFeature(name.to_owned()))
    }
}

/// A set of [`Feature`]s: what a job needs, or what a device has. A list of names in JSON, one number in the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FeatureSet(u128);

impl FeatureSet {
    /// The set without a member.
    pub const EMPTY: FeatureSet = FeatureSet(0);

    /// Adds a feature, unless it is in the set.
    pub fn insert(&mut self, feature: Feature) {
        self.0 |= bit(feature);
    }

    /// Takes a feature out.
    pub fn remove(&mut self, feature: Feature) {
        self.0 &= !bit(feature);
    }

    /// True when the feature is in the set.
    pub fn contains(self, feature: Feature) -> bool {
        self.0 & bit(feature) != 0
    }

    /// True for the set without a member.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in one of the two sets or in both.
    #[must_use]
    pub fn union(self, other: FeatureSet) -> FeatureSet {
        FeatureSet(self.0 | other.0)
    }

    /// What is in this set and not in the other: of what a job needs, what the device lacks.
    #[must_use]
    pub fn without(self, other: FeatureSet) -> FeatureSet {
        FeatureSet(self.0 & !other.0)
    }

    /// The rows of the members, in the order of [`Feature::ALL`].
    pub fn rows(self) -> impl Iterator<Item = &'static FeatureRow> {
        self.iter().map(Feature::row)
    }

    /// The set with what must be enabled beside its members.
    #[must_use]
    pub fn with_required(self) -> FeatureSet {
        self.rows().fold(self, |set, row| set.union(row.requires.iter().copied().collect()))
    }

    /// The set with what its members imply.
    #[must_use]
    pub fn with_implied(self) -> FeatureSet {
        let implied = TABLE.iter().filter(|row| row.implied_by.iter().any(|&by| self.contains(by)));
        self.union(implied.map(|row| row.feature).collect())
    }

    /// The members in the order of [`Feature::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.iter().copied().filter(move |&feature| self.contains(feature))
    }
}

fn bit(feature: Feature) -> u128 {
    1 << feature as u8
}

impl FromIterator<Feature> for FeatureSet {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> FeatureSet {
        let mut set = FeatureSet::EMPTY;
        features.into_iter().for_each(|feature| set.insert(feature));
        set
    }
}

impl Extend<Feature> for FeatureSet {
    fn extend<I: IntoIterator<Item = Feature>>(&mut self, features: I) {
        features.into_iter().for_each(|feature| self.insert(feature));
    }
}

impl Serialize for FeatureSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_seq(self.iter().map(Feature::name));
        }
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FeatureSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FeatureSet, D::Error> {
        if !deserializer.is_human_readable() {
            return u128::deserialize(deserializer).map(FeatureSet);
        }
        let names = Vec::<String>::deserialize(deserializer)?;
        names.iter().map(|name| name.parse().map_err(D::Error::custom)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lists_names() {
        let set: FeatureSet = [Feature::ShaderInt8, Feature::SubgroupVote].into_iter().collect();
        let json = serde_json::to_string(&set).unwrap();
        assert_eq!(json, r#"["VK_SUBGROUP_FEATURE_VOTE_BIT","shaderInt8"]"#);
        assert_eq!(serde_json::from_str::<FeatureSet>(&json).unwrap(), set);
        assert!(serde_json::from_str::<FeatureSet>(r#"["shaderInt9"]"#).is_err());
        assert_eq!("shaderInt63".parse::<Feature>(), Err(UnknownFeature("shaderInt63".into())));
    }

    #[test]
    fn missing_features_are_the_difference() {
        let needed: FeatureSet = [Feature::ShaderInt8, Feature::QuadControl].into_iter().collect();
        let present: FeatureSet = [Feature::ShaderInt8, Feature::ShaderInt16].into_iter().collect();
        assert_eq!(needed.without(present).iter().collect::<Vec<_>>(), [Feature::QuadControl]);
        assert_eq!(needed.union(present).iter().count(), 3);
    }
}

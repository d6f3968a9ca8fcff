//! What a module asks of floating-point arithmetic: execution modes of SPV_KHR_float_controls, each for a width.
//!
//! Without them the specifications leave open what becomes of NaN, infinities, the sign of zeros and denormals (docs/rules.md, rule F5).
//! What they promise: rules F6 to F11.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::rounding::Rounding;
use crate::types::Scalar;

/// An execution mode (SPIR-V 1.6 §3.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FloatMode {
    /// `SignedZeroInfNanPreserve`: signs of zeros, infinities and NaN are kept by the instructions that the Vulkan specification lists (rule F6).
    SignedZeroInfNanPreserve,
    /// `DenormPreserve`: denormals are not flushed to zero by the instructions that it lists (rule F9).
    DenormPreserve,
    /// `RoundingModeRTE`: correctly rounded results are rounded to nearest, ties to even (rule F10).
    RoundingModeRTE,
    /// `RoundingModeRTZ`: they are rounded toward zero. An entry point can ask for one of the two of a width.
    RoundingModeRTZ,
}

impl FloatMode {
    /// Every mode, in the order of declaration.
    pub const ALL: [FloatMode; 4] = [
        FloatMode::SignedZeroInfNanPreserve,
        FloatMode::DenormPreserve,
        FloatMode::RoundingModeRTE,
        FloatMode::RoundingModeRTZ,
    ];

    /// The name in SPIR-V.
    pub const fn name(self) -> &'static str {
        match self {
            FloatMode::SignedZeroInfNanPreserve => "SignedZeroInfNanPreserve",
            FloatMode::DenormPreserve => "DenormPreserve",
            FloatMode::RoundingModeRTE => "RoundingModeRTE",
            FloatMode::RoundingModeRTZ => "RoundingModeRTZ",
        }
    }

    /// The mode that asks for a direction of rounding.
    pub const fn of_rounding(rounding: Rounding) -> FloatMode {
        match rounding {
            Rounding::TiesToEven => FloatMode::RoundingModeRTE,
            Rounding::TowardZero => FloatMode::RoundingModeRTZ,
        }
    }
}

/// The types that there are modes for.
pub const FLOATS: [Scalar; 3] = [Scalar::Float16, Scalar::Float, Scalar::Double];

/// A mode of one floating-point type, as the bit of [`FloatControls`]; 0 for other types.
const fn bit(mode: FloatMode, scalar: Scalar) -> u16 {
    let at = match scalar {
        Scalar::Float16 => 0,
        Scalar::Float => 1,
        Scalar::Double => 2,
        _ => return 0,
    };
    1 << (FLOATS.len() * mode as usize + at)
}

/// The modes that a module asks for. Its JSON form is a list of names and widths, `["SignedZeroInfNanPreserve 32"]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FloatControls(u16);

impl FloatControls {
    /// No mode.
    pub const NONE: FloatControls = FloatControls(0);

    /// Every mode.
    pub const ALL: FloatControls = FloatControls((1 << (FLOATS.len() * FloatMode::ALL.len())) - 1);

    /// These and one more. A type that is no float has none.
    #[must_use]
    pub const fn with(self, mode: FloatMode, scalar: Scalar) -> FloatControls {
        FloatControls(self.0 | bit(mode, scalar))
    }

    /// True if it asks for nothing.
    pub const fn is_none(&self) -> bool {
        self.0 == 0
    }

    /// True if it asks for the mode of the type.
    pub const fn has(self, mode: FloatMode, scalar: Scalar) -> bool {
        self.0 & bit(mode, scalar) != 0
    }

    /// True if it asks for this direction of rounding of a type, and for no other.
    pub const fn rounds(self, rounding: Rounding, scalar: Scalar) -> bool {
        self.has(FloatMode::of_rounding(rounding), scalar)
            && !self.has(FloatMode::of_rounding(rounding.other()), scalar)
    }

    /// What it asks for.
    pub fn iter(self) -> impl Iterator<Item = (FloatMode, Scalar)> {
        let all = FloatMode::ALL.into_iter().flat_map(|mode| FLOATS.map(|scalar| (mode, scalar)));
        all.filter(move |&(mode, scalar)| self.has(mode, scalar))
    }

    /// The same without a mode of a type.
    #[must_use]
    pub const fn without(self, mode: FloatMode, scalar: Scalar) -> FloatControls {
        FloatControls(self.0 & !bit(mode, scalar))
    }
}

impl fmt::Display for FloatControls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> =
            self.iter().map(|(mode, scalar)| format!("{} {}", mode.name(), scalar.size())).collect();
        f.write_str(&names.join(", "))
    }
}

impl FromStr for FloatControls {
    type Err = String;

    fn from_str(text: &str) -> Result<FloatControls, String> {
        let all =
            FloatMode::ALL.into_iter().flat_map(|mode| FLOATS.map(|scalar| FloatControls::NONE.with(mode, scalar)));
        all.clone().find(|one| one.to_string() == text).ok_or_else(|| {
            let names: Vec<String> = all.map(|one| one.to_string()).collect();
            format!("there is no float control '{text}'; there are: {}", names.join(", "))
        })
    }
}

impl Serialize for FloatControls {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|(mode, scalar)| FloatControls::NONE.with(mode, scalar).to_string()))
    }
}

impl<'de> Deserialize<'de> for FloatControls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FloatControls, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        names.iter().try_fold(FloatControls::NONE, |all, name| {
            let one: FloatControls = name.parse().map_err(serde::de::Error::custom)?;
            Ok(FloatControls(all.0 | one.0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_names_and_widths() {
        let both = FloatControls::NONE
            .with(FloatMode::SignedZeroInfNanPreserve, Scalar::Float)
            .with(FloatMode::DenormPreserve, Scalar::Double);
        let json = serde_json::to_string(&both).expect("plain data");
        assert_eq!(json, r#"["SignedZeroInfNanPreserve 32","DenormPreserve 64"]"#);
        assert_eq!(serde_json::from_str::<FloatControls>(&json).expect("it was just written"), both);
        assert!(serde_json::from_str::<FloatControls>(r#"["SignedZeroInfNanPreserve 8"]"#).is_err());
        let rounded: FloatControls =
            serde_json::from_str(r#"["RoundingModeRTE 32", "RoundingModeRTZ 16"]"#).expect("two modes");
        assert!(
            rounded.rounds(Rounding::TiesToEven, Scalar::Float)
                && rounded.rounds(Rounding::TowardZero, Scalar::Float16)
        );
        assert!(
            !rounded.rounds(Rounding::TowardZero, Scalar::Float)
                && !rounded.rounds(Rounding::TiesToEven, Scalar::Double)
        );
        assert!(!FloatControls::ALL.rounds(Rounding::TiesToEven, Scalar::Float));
        assert!(
            both.has(FloatMode::DenormPreserve, Scalar::Double) && !both.has(FloatMode::DenormPreserve, Scalar::Float)
        );
        assert!(FloatControls::NONE.with(FloatMode::DenormPreserve, Scalar::Uint).is_none());
        let all = FloatControls::ALL.iter().fold(FloatControls::NONE, |all, (mode, scalar)| all.with(mode, scalar));
        assert_eq!((all, all.iter().count()), (FloatControls::ALL, 12));
        assert_eq!(both.without(FloatMode::DenormPreserve, Scalar::Double).iter().count(), 1);
    }
}

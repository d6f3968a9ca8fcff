//! Small campaigns on one device.

use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tangle_campaign::campaign::{Campaign, CampaignOptions, Folder};
use tangle_campaign::plan::Choice;
use tangle_campaign::target::Target;
use tangle_generator::Profile;
use tangle_identity::Known;
use tangle_program::case::Tier;
use tangle_program::variant::Variant;

/// One of so many cases, new or taken up, in this folder.
pub fn campaign(
    place: &Path,
    target: Target,
    cases: u64,
    inputs: NonZero<u32>,
    time: Option<Duration>,
    stop: &'static AtomicBool,
) -> Campaign {
    let variant = Some(Variant::Unoptimised);
    // At the tier at which nothing is judged again.
    let tier = Some(Tier::Maximal);
    let choice = Choice { seed: 11, profile: Some(Profile::Small), tier, variant, inputs, ..Choice::default() };
    let options = CampaignOptions {
        choice,
        cases: Some(cases),
        time,
        witnesses: 5,
        known: Known::default(),
        max_disk: CampaignOptions::MAX_DISK,
        processor_time: None,
        until_first: false,
    };
    let folder = Folder::open(place).expect("it is ours");
    Campaign::new(options, folder, vec![target], stop).expect("a campaign")
}

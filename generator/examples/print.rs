//! Prints the cases of some seeds: `cargo run -p tangle-generator --example print -- [--json] [--tier TIER] [PROFILE] SEED…`

use tangle_generator::{Config, Profile, from_seed};
use tangle_program::case::Tier;

fn main() {
    let mut config = Config::default();
    let mut json = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--json" {
            json = true;
        } else if arg == "--tier" {
            let name = args.next().unwrap_or_default();
            let tier = Tier::ALL.into_iter().find(|tier| tier.name() == name);
            config.tier = tier.unwrap_or_else(|| panic!("no tier is called '{name}'"));
        } else if let Some(profile) = Profile::from_name(&arg) {
            config.profile = profile;
        } else {
            let seed = arg.parse().unwrap_or_else(|_| panic!("'{arg}' is neither a profile nor a seed"));
            let case = from_seed(seed, &config);
            if json {
                println!("{}", serde_json::to_string_pretty(&case).expect("a case has a JSON form"));
            } else {
                println!("// seed {seed}, {:?}\n{}", case.entry_point, tangle_emit::glsl::glsl(&case));
            }
        }
    }
}
